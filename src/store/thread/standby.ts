import { copyFileSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { faultOf, faultText } from "../../domain/store-fault.ts";
import type { BoothId, StreamId } from "../../domain/units.ts";
import type { IdentityFile } from "../identity/identity.ts";
import { StoreRefusal, type KeptStore } from "./keeper.ts";
import type { Names, OpenedFolder } from "./opened.ts";

/** What a data folder may hold of both databases. */
const FILES = ["store.db", "store.db-wal", "store.db.renewed", "identity.db", "identity.db-wal", "identity.copy.db"];

export interface StandbyTools {
  readonly dataDir: string;
  /** A folder in memory, emptied here; copies stand there while the data folder takes no writes. */
  readonly standbyDir: string;
  readonly uuid: () => string;
  readonly open: (folder: string, names: Names) => OpenedFolder;
}

/**
 * Opens a data folder. Where the disk takes no writes, as a card that has gone read-only, copies in memory are opened instead: all that
 * is stored can be read, and every write is refused as it is where the disk fails later, so that nothing is called durable. Each
 * write first tries the data folder again, and once it opens, everything goes on there under the same names. Throws FolderInUse,
 * and whatever isn't the disk's fault.
 */
export function openOrStandBy(tools: StandbyTools): OpenedFolder {
  const { dataDir, standbyDir, uuid, open } = tools;
  rmSync(standbyDir, { recursive: true, force: true });
  try {
    return open(dataDir, { gateway: uuid, stream: uuid });
  } catch (error) {
    if (refusalOf(error) === null) throw error;
    return standBy(tools);
  }
}

function standBy({ dataDir, standbyDir, uuid, open }: StandbyTools): OpenedFolder {
  mkdirSync(standbyDir, { recursive: true, mode: 0o700 });
  for (const name of FILES) {
    if (existsSync(join(dataDir, name))) copyFileSync(join(dataDir, name), join(standbyDir, name));
  }
  let files = open(standbyDir, { gateway: uuid, stream: uuid });
  let isReal = false;
  const streams = new Map<BoothId, StreamId>();
  const real = (): OpenedFolder => {
    if (!isReal) {
      files = leave(files, { streams, open: (names) => open(dataDir, names) });
      isReal = true;
      rmSync(standbyDir, { recursive: true, force: true });
    }
    return files;
  };
  return {
    store: storeOver({ now: () => files.store, real: () => real().store, streams }),
    identity: identityOver(
      () => files.identity,
      () => real().identity,
    ),
    close: () => {
      files.close();
      rmSync(standbyDir, { recursive: true, force: true });
    },
  };
}

interface Leaving {
  /** By booth, as they have been told. */
  readonly streams: ReadonlyMap<BoothId, StreamId>;
  readonly open: (names: Names) => OpenedFolder;
}

/** Throws StoreRefusal as long as the disk refuses. What was told of gateway and streams is true of the real ones as well. */
function leave(standby: OpenedFolder, { streams, open }: Leaving): OpenedFolder {
  const { gateway_id } = standby.identity.gateway();
  let next = "";
  const real = refused(() => open({ gateway: () => gateway_id, stream: () => next }));
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

function refused<T>(act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw refusalOf(error) ?? error;
  }
}

/** null: it isn't the disk that refuses. */
function refusalOf(error: unknown): StoreRefusal | null {
  if (error instanceof StoreRefusal) return error;
  if (!(error instanceof Error) || !("code" in error)) return null;
  const code = String(error.code);
  const fault = faultOf(code);
  return fault === "refused" || fault === "full"
    ? new StoreRefusal(faultText(fault, error.message), code, error)
    : null;
}

interface StoreWay {
  readonly now: () => KeptStore;
  readonly real: () => KeptStore;
  readonly streams: Map<BoothId, StreamId>;
}

function storeOver({ now, real, streams }: StoreWay): KeptStore {
  return {
    openStream(booth) {
      const info = now().openStream(booth);
      streams.set(booth, info.stream);
      return info;
    },
    ingest: (stream, records, take) => real().ingest(stream, records, take),
    read: (stream, from, limit) => now().read(stream, from, limit),
    terms: (stream, from, end) => now().terms(stream, from, end),
    setAside: (stream, refusals) => real().setAside(stream, refusals),
    refused: (stream) => now().refused(stream),
    asideSince: (stream, since) => now().asideSince(stream, since),
    takenAfterAll: (stream, seqs) => real().takenAfterAll(stream, seqs),
    ack: (stream, upTo) => now().ack(stream, upTo),
    resend: (stream, from) => real().resend(stream, from),
    info: (stream) => now().info(stream),
    state: (stream) => now().state(stream),
    check: () => now().check(),
    mend: () => now().mend(),
    rebuilder: {
      start: (stream, current) => real().rebuilder.start(stream, current),
      progress: (stream) => now().rebuilder.progress(stream),
      slice: () => now().rebuilder.slice(),
    },
    close: () => now().close(),
    abandon: () => now().abandon(),
  };
}

function identityOver(now: () => IdentityFile, real: () => IdentityFile): IdentityFile {
  return {
    gateway: () => now().gateway(),
    setCredential: (credential) => real().setCredential(credential),
    provisioning: (booth) => now().provisioning(booth),
    setProvisioning: (booth, row) => real().setProvisioning(booth, row),
    learned: (booth) => now().learned(booth),
    setLearned: (booth, what) => real().setLearned(booth, what),
    kept: (name) => now().kept(name),
    keep: (name, what) => real().keep(name, what),
    promote: (credential, name, what) => real().promote(credential, name, what),
    noteOrigin: (origin) => real().noteOrigin(origin),
    close: () => now().close(),
  };
}
