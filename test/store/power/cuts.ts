import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import Database from "better-sqlite3";
import { openIdentity } from "../../../src/store/identity/identity.ts";
import { storePath } from "../../../src/store/open.ts";
import type { Placed } from "../../../src/domain/record.ts";
import type { Writer } from "../../../src/store/thread/writer.ts";
import { createDisk, type Files } from "./disk.ts";
import { BOOTH, markOf, writerOf, type Mark } from "./power-bed.ts";
import { operationsIn, recorderIn, type Operation } from "./recording.ts";
import { errorMessage } from "../../../src/domain/error-message.ts";

const CHILD = fileURLToPath(new URL("./child.ts", import.meta.url));
const MOST_EXAMPLES = 5;
/** The identity rarely changes. Without a change it is checked only after this many operations. */
const IDENTITY_EVERY = 400;
/** Maximum number of unsynced writes at which each subset is tested: 128 subsets. */
const MOST_UNSYNCED = 7;

export interface Cuts {
  /** Number of writes, truncations, syncs and renames of the run. */
  readonly operations: number;
  readonly commits: number;
  /** Number of records deleted during the run. */
  readonly thinned: number;
  /** Number of cuts at which all earlier writes had reached the disk. */
  readonly ordered: number;
  /** Number of cuts with unsynced writes lost, torn or reordered. */
  readonly lossy: number;
  /** Number of cuts at points where each set of unsynced writes was tested. */
  readonly legal: number;
  /** Number of cuts after which durable data was missing. */
  readonly lost: number;
  /** Number of cuts after which data was doubled or had never been written. */
  readonly wrong: number;
  readonly examples: readonly string[];
}

/** The cuts to test: in-order cuts at some operations, and random losses at some operations. */
export interface Plan {
  readonly commits: number;
  readonly ordered_every: number;
  readonly lossy_every: number;
  readonly losses: number;
  /** Tests all legal losses at every nth operation, if few enough writes are unsynced. Absent: never. */
  readonly legal_every?: number;
  /** Simulates a disk that ignores syncs. It breaks the store's promises, so the cuts must fail. */
  readonly deaf?: boolean;
}

/** Records one run of the agent's store in `folder`, then simulates power cuts. `folder` should be in memory. */
export function cutPower(folder: string, plan: Plan, random: () => number): Cuts {
  const operations = recordRun(folder, plan.commits);
  const cuts = { ordered: 0, lossy: 0, legal: 0, lost: 0, wrong: 0 };
  const examples: string[] = [];
  const all = marksIn(operations);
  const disk = createDisk();
  let promised = -1;
  const tryOut = (files: Files, where: string): void => {
    const with_identity = touchesIdentity || done % IDENTITY_EVERY === 0;
    const cut = { files, promised: all[promised], next: all[promised + 1], with_identity };
    const found = inspect(join(folder, "cut"), cut);
    if (found === null) return;
    cuts[found.kind] += 1;
    if (examples.length < MOST_EXAMPLES) examples.push(`${where}: ${found.reason}`);
  };
  let done = 0;
  let touchesIdentity = false;
  for (const operation of operations) {
    if (isMark(operation)) {
      if (operation.kind === "write") promised += 1;
      continue;
    }
    const isSync = operation.kind === "sync" || operation.kind === "sync folder";
    if (!(isSync && plan.deaf === true)) disk.apply(operation);
    done += 1;
    touchesIdentity = operation.kind === "sync folder" || operation.name.startsWith("identity");
    if (done % plan.ordered_every === 0) {
      cuts.ordered += 1;
      tryOut(disk.asWritten(), `in order, after operation ${done}`);
    }
    for (let loss = 0; done % plan.lossy_every === 0 && loss < plan.losses; loss += 1) {
      cuts.lossy += 1;
      tryOut(disk.afterLoss(random), `loss ${loss} after operation ${done}`);
    }
    if (plan.legal_every === undefined || done % plan.legal_every !== 0) continue;
    for (const files of disk.allLosses(MOST_UNSYNCED)) {
      cuts.legal += 1;
      tryOut(files, `legal loss ${cuts.legal}, after operation ${done}`);
    }
  }
  return { operations: done, commits: plan.commits, thinned: (all.at(-1)?.oldest ?? 1) - 1, ...cuts, examples };
}

function recordRun(folder: string, commits: number): Operation[] {
  const recorded = join(folder, "data");
  const file = join(folder, "record");
  mkdirSync(recorded);
  const environment = recorderIn(folder, { recorded, file });
  execFileSync(process.execPath, [CHILD, recorded, join(folder, "run"), commits.toString()], {
    env: { ...process.env, ...environment },
    stdio: "inherit",
  });
  return operationsIn(file);
}

function isMark(operation: Operation): boolean {
  return operation.kind !== "sync folder" && operation.name === "marks";
}

function marksIn(operations: readonly Operation[]): Mark[] {
  return operations.flatMap((one) =>
    one.kind === "write" && one.name === "marks" ? [JSON.parse(one.data.toString("utf8")) as Mark] : [],
  );
}

interface Fault {
  readonly kind: "lost" | "wrong";
  readonly reason: string;
}

interface Cut {
  readonly files: Files;
  /** The last mark, whose data must be durable. */
  readonly promised?: Mark | undefined;
  /** The mark of the commit in progress. */
  readonly next?: Mark | undefined;
  readonly with_identity: boolean;
}

/** Opens the store on the disk's contents. null: no fault. */
function inspect(folder: string, { files, promised = NOTHING, next = promised, with_identity }: Cut): Fault | null {
  mkdirSync(folder);
  try {
    for (const [name, bytes] of files) writeFileSync(join(folder, name), bytes);
    return (with_identity ? identityFault(folder, promised, next) : null) ?? logFault(folder, promised, next);
  } catch (error) {
    return { kind: "lost", reason: errorMessage(error) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const NOTHING: Mark = { newest: 0, oldest: 1, take: 0, acked: 0, count: 0, provisioned: 0 };

function identityFault(folder: string, promised: Mark, next: Mark): Fault | null {
  const provisioned = provisionedIn(folder);
  if (provisioned < promised.provisioned) return { kind: "lost", reason: `provisioning ${provisioned}` };
  return provisioned > next.provisioned ? { kind: "wrong", reason: `provisioning ${provisioned}` } : null;
}

function logFault(folder: string, promised: Mark, next: Mark): Fault | null {
  const writer = writerOf(folder);
  try {
    const { stream } = writer.openStream(BOOTH);
    const found = { ...markOf(writer, 0), provisioned: 0 };
    if (found.newest < promised.newest) return { kind: "lost", reason: `${found.newest} of ${promised.newest}` };
    if (found.acked < promised.acked || found.acked > next.acked)
      return { kind: "wrong", reason: `acked ${found.acked}` };
    const same = [promised, next].some(
      (one) => JSON.stringify({ ...one, provisioned: 0, acked: found.acked }) === JSON.stringify(found),
    );
    if (!same) return { kind: "wrong", reason: `${JSON.stringify(found)} is neither the old nor the new` };
    const records = recordsIn(writer, stream, found);
    const takes = records.filter(({ tag }) => tag === "number").map(({ value }) => Number(value));
    if (
      !records.every(({ seq }, index) => seq === found.oldest + index) ||
      records.length !== found.newest - found.oldest + 1
    ) {
      return { kind: "lost", reason: `a hole between ${found.oldest} and ${found.newest}` };
    }
    if (found.take !== (takes.at(-1) ?? found.take))
      return { kind: "wrong", reason: `take ${found.take} isn't the last reading` };
    if (!takes.every((take, index) => take === (takes[0] ?? 0) + index))
      return { kind: "wrong", reason: "takes out of order" };
  } finally {
    writer.close();
  }
  return damageIn(folder);
}

function recordsIn(writer: Writer, stream: string, { oldest, newest }: Mark): Placed[] {
  const records: Placed[] = [];
  for (let from = oldest; from <= newest; from += 1) {
    const page = writer.read(stream, from, newest);
    records.push(...page);
    from = page.at(-1)?.seq ?? from;
  }
  return records;
}

/** Runs SQLite's check and the store's check. Nothing may count as damaged. */
function damageIn(folder: string): Fault | null {
  const db = new Database(storePath(folder));
  try {
    const verdict = String(db.pragma("integrity_check(1)", { simple: true }));
    if (verdict !== "ok") return { kind: "wrong", reason: verdict };
    const { rows } = db.prepare<[], { rows: number }>("SELECT count(*) AS rows FROM quarantine").get() ?? { rows: -1 };
    return rows === 0 ? null : { kind: "lost", reason: `${rows} ranges in quarantine` };
  } finally {
    db.close();
  }
}

function provisionedIn(folder: string): number {
  const identity = openIdentity(folder, () => "gateway-1");
  try {
    return (identity.provisioning(BOOTH) as { number: number } | undefined)?.number ?? 0;
  } finally {
    identity.close();
  }
}
