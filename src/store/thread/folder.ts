import { copyFileSync, existsSync, mkdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { faultOf, faultText, type StoreBudget } from "../../domain/storage.ts";
import type { BoothId, StreamId } from "../../domain/units.ts";
import { openIdentity } from "../identity/identity.ts";
import { lockFolder, storePath } from "../open.ts";
import type { IdentityCalls } from "../port.ts";
import { callsBy, type CallTarget, IDENTITY_CALLS, invoke, WRITER_CALLS } from "./calls.ts";
import { keepStore, type KeptStore, StoreRefusal } from "./keeper.ts";
import { monotonicMs } from "../../monotonic.ts";

/** Both databases of a data folder. The folder is locked for this process until they are closed. */
export interface OpenedFolder {
  readonly store: Omit<KeptStore, "close" | "abandon">;
  readonly identity: IdentityCalls;
  close(): void;
}

/** The data folder, and the limits of its size. */
export interface FolderInput {
  readonly dataDir: string;
  /** A folder in memory for copies while the data folder accepts no writes. It is emptied at the start. */
  readonly standbyDir: string;
  /** The storage limits of each booth. */
  readonly budget: StoreBudget;
}

/** Functions that make names for a new gateway and new streams. */
interface Names {
  readonly gateway: () => string;
  readonly stream: () => string;
}

/** Opens a data folder. Throws FolderInUse, or the errors of keepStore and openIdentity, and then leaves nothing open. */
export function openFolder(dataDir: string, budget: StoreBudget, names: Names): OpenedFolder {
  const lock = lockFolder(dataDir);
  let store: KeptStore | undefined;
  const hadStore = existsSync(storePath(dataDir)) && statSync(storePath(dataDir)).size > 0;
  try {
    const clocks = { now: monotonicMs, wall: () => Date.now() };
    const kept = keepStore({ dataDir, uuid: names.stream, ...clocks, budget });
    store = kept;
    const identity = openIdentity(dataDir, names.gateway, hadStore);
    const close = (): void => {
      kept.close();
      identity.close();
      lock.release();
    };
    const openStream: KeptStore["openStream"] = (booth) => {
      const info = kept.openStream(booth);
      identity.noteOrigin({ stream: info.stream, booth, created_at: Date.now() });
      return info;
    };
    return { store: { ...kept, openStream }, identity, close };
  } catch (error) {
    store?.abandon();
    lock.release();
    throw error;
  }
}

/** Files of both databases in a data folder. */
const FILES = ["store.db", "store.db-wal", "store.db.renewed", "identity.db", "identity.db-wal", "identity.copy.db"];

/** Returns a random UUID. Loads Node's cryptography on demand, because only a new gateway or stream needs it. */
function randomUUID(): string {
  return process.getBuiltinModule("node:crypto").randomUUID();
}

const NEW_NAMES: Names = { gateway: randomUUID, stream: randomUUID };

/**
 * Opens a data folder. If the disk accepts no writes (such as a card that has become read-only), opens copies of the databases in memory.
 * All stored records can then be read. Each write is refused, as after a later disk fault, so that no record counts as durable. Each write
 * first tries to open the data folder again. After that succeeds, the store continues there under the same names. Throws FolderInUse, and
 * errors that the disk didn't cause.
 */
export function openOrStandBy(input: FolderInput): OpenedFolder {
  rmSync(input.standbyDir, { recursive: true, force: true });
  try {
    return openFolder(input.dataDir, input.budget, NEW_NAMES);
  } catch (error) {
    if (refusalOf(error) === null) throw error;
    return standBy(input);
  }
}

function standBy({ dataDir, standbyDir, budget }: FolderInput): OpenedFolder {
  mkdirSync(standbyDir, { recursive: true, mode: 0o700 });
  for (const name of FILES) {
    if (existsSync(join(dataDir, name))) copyFileSync(join(dataDir, name), join(standbyDir, name));
  }
  let files = openFolder(standbyDir, budget, NEW_NAMES);
  let isReal = false;
  const streams = new Map<BoothId, StreamId>();
  const real = (): OpenedFolder => {
    if (!isReal) {
      files = leaveStandby(files, streams, (names) => openFolder(dataDir, budget, names));
      isReal = true;
      rmSync(standbyDir, { recursive: true, force: true });
    }
    return files;
  };
  const fileFor = (target: CallTarget): OpenedFolder => (target === "real" ? real() : files);
  const store: OpenedFolder["store"] = {
    ...callsBy<OpenedFolder["store"]>(WRITER_CALLS, (name, args) =>
      invoke(fileFor(WRITER_CALLS[name]).store, name, args),
    ),
    openStream(booth) {
      const info = files.store.openStream(booth);
      streams.set(booth, info.stream);
      return info;
    },
  };
  const identity = callsBy<IdentityCalls>(IDENTITY_CALLS, (name, args) =>
    invoke(fileFor(IDENTITY_CALLS[name]).identity, name, args),
  );
  const close = (): void => {
    files.close();
    rmSync(standbyDir, { recursive: true, force: true });
  };
  return { store, identity, close };
}

/**
 * Replaces the standby (the copies in memory) by the real folder, with the same names of gateway and streams. Throws StoreRefusal while the
 * disk refuses writes.
 */
function leaveStandby(
  standby: OpenedFolder,
  streams: ReadonlyMap<BoothId, StreamId>,
  open: (names: Names) => OpenedFolder,
): OpenedFolder {
  const { gateway_id } = standby.identity.gateway();
  let next = "";
  let real: OpenedFolder;
  try {
    real = open({ gateway: () => gateway_id, stream: () => next });
  } catch (error) {
    throw refusalOf(error) ?? error;
  }
  for (const [booth, stream] of streams) {
    next = stream;
    if (real.store.openStream(booth).stream === stream) continue;
    real.close();
    throw new Error(
      `the store isn't the one that stood there at the start: ${booth} has another stream; start the agent anew`,
    );
  }
  standby.close();
  return real;
}

/** Returns the error as the disk's refusal; null: the disk didn't cause the error. */
function refusalOf(error: unknown): StoreRefusal | null {
  if (error instanceof StoreRefusal) return error;
  if (!(error instanceof Error) || !("code" in error)) return null;
  const code = String(error.code);
  const fault = faultOf(code);
  return fault === "refused" || fault === "full"
    ? new StoreRefusal(faultText(fault, error.message), code, error)
    : null;
}
