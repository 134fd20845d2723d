import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import Database from "better-sqlite3";
import { unpackLog, type LogRow } from "../../src/store/log/rows.ts";
import { storePath } from "../../src/store/open.ts";
import { openTail } from "../../src/acquisition/tail.ts";

const CHILD = fileURLToPath(new URL("./store-child.ts", import.meta.url));
/** Kills by time come in the first so many ms of a process: while it starts, replays and begins. */
const STARTING_MS = 400;
const MOST_LINES = 240;

export interface Kills {
  readonly kills: number;
  readonly taken: number;
  /** Readings that were read for delivery, each before its ack. */
  readonly delivered: number;
  /** Records thinned to keep within the budget. */
  readonly thinned: number;
  /** Taken, but neither delivered nor in the log nor in the tail. */
  readonly lost: number;
  /** Under two seqs. */
  readonly doubled: number;
}

/** Several stores, each with its own row of killed writers: with one at a time a machine waits for starting processes. */
export async function killStores(
  folder: string,
  { cycles, stores }: { cycles: number; stores: number },
  randomOf: (store: number) => () => number,
): Promise<Kills> {
  const each = cycles / stores;
  const all = await Promise.all(
    Array.from({ length: stores }, (_, store) => killStore(join(folder, store.toString()), each, randomOf(store))),
  );
  const sum = (of: keyof Kills): number => all.reduce((total, kills) => total + kills[of], 0);
  const kills = sum("kills");
  const taken = sum("taken");
  const delivered = sum("delivered");
  const thinned = sum("thinned");
  return { kills, taken, delivered, thinned, lost: sum("lost"), doubled: sum("doubled") };
}

/** What the killed ones said. */
interface Heard {
  taken: number;
  /** Seq by number of the reading. */
  readonly seqs: Map<number, number>;
  doubled: number;
}

/** Kills the writer `cycles` times with SIGKILL at random moments, then counts what was delivered and what log and tail hold. */
export async function killStore(folder: string, cycles: number, random: () => number): Promise<Kills> {
  const runtime = join(folder, "run");
  const heard: Heard = { taken: 0, seqs: new Map(), doubled: 0 };
  // Compiled once, not in each of the many processes.
  const env = { ...process.env, NODE_COMPILE_CACHE: join(folder, "compiled") };
  for (let cycle = 0; cycle < cycles; cycle += 1) {
    const child = spawn(process.execPath, [CHILD, folder, runtime], { env, stdio: ["ignore", "pipe", "inherit"] });
    const kill = (): boolean => child.kill("SIGKILL");
    const isByTime = random() < 0.25;
    const most = isByTime ? Infinity : 1 + Math.floor(random() * MOST_LINES);
    if (isByTime) setTimeout(kill, random() * STARTING_MS);
    let lines = 0;
    createInterface({ input: child.stdout }).on("line", (line) => {
      if (++lines === most) kill();
      hear(heard, line);
    });
    const [, signal] = (await once(child, "close")) as [number | null, string | null];
    if (signal !== "SIGKILL") throw new Error(`the writer ended by itself in cycle ${cycle}`);
  }
  return countIn(folder, runtime, { cycles, heard });
}

function hear(heard: Heard, line: string): void {
  const delivered = /^d (\d+) (\d+)$/.exec(line);
  if (delivered !== null) note(heard, Number(delivered[2]), Number(delivered[1]));
  const taken = /^t (\d+)$/.exec(line)?.[1];
  // A line that the kill cut short names a smaller number.
  heard.taken = Math.max(heard.taken, Number(taken ?? 0));
}

function note(heard: Heard, number: number, seq: number): void {
  const known = heard.seqs.get(number);
  if (known !== undefined && known !== seq) heard.doubled += 1;
  heard.seqs.set(number, seq);
}

function countIn(folder: string, runtime: string, { cycles, heard }: { cycles: number; heard: Heard }): Kills {
  const delivered = heard.seqs.size;
  const db = new Database(storePath(folder));
  const rows = db.prepare<[], LogRow>("SELECT * FROM log ORDER BY first_seq").all();
  const stream = db.prepare<[], { last_take: number; oldest_seq: number }>("SELECT * FROM stream").get();
  db.close();
  const inLog = rows.flatMap((row) => unpackLog(row)).filter(({ tag }) => tag === "number");
  for (const { value, seq } of inLog) note(heard, Number(value), seq);
  const tail = openTail(runtime);
  const inTail = tail.leftover().filter(({ take }) => take > (stream?.last_take ?? 0));
  tail.close();
  const waiting = new Set(inTail.map(({ take }) => take));
  heard.doubled += [...waiting].filter((take) => heard.seqs.has(take)).length;
  // Take 1 is the clock's record.
  const taken = Array.from({ length: Math.max(0, heard.taken - 1) }, (_, i) => i + 2);
  const lost = taken.filter((take) => !heard.seqs.has(take) && !waiting.has(take)).length;
  const doubledInLog = inLog.length - new Set(inLog.map(({ value }) => value)).size;
  const thinned = (stream?.oldest_seq ?? 1) - 1;
  return { kills: cycles, taken: heard.taken, delivered, thinned, lost, doubled: heard.doubled + doubledInLog };
}
