import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import Database from "better-sqlite3";
import { unpackLog, type LogRow } from "../../src/store/rows.ts";
import { storePath } from "../../src/store/open.ts";
import { openTail } from "../../src/store/tail.ts";

const CHILD = new URL("./store-child.ts", import.meta.url);

export interface Kills {
  readonly taken: number;
  readonly lost: number;
  readonly doubled: number;
}

/** Kills the writer `cycles` times with SIGKILL, each after some random readings, then counts what store and tail hold. */
export async function killStore(folder: string, cycles: number, random: () => number): Promise<Kills> {
  const runtime = join(folder, "run");
  let taken = 0;
  for (let cycle = 0; cycle < cycles; cycle += 1) {
    const child = fork(CHILD, [folder, runtime], { stdio: ["ignore", "ignore", "inherit", "ipc"] });
    const most = 1 + Math.floor(random() * 60);
    let heard = 0;
    child.on("message", (message: { taken?: number }) => {
      if (message.taken === undefined) return;
      taken = Math.max(taken, message.taken);
      heard += 1;
      if (heard >= most) child.kill("SIGKILL");
    });
    const [, signal] = (await once(child, "exit")) as [number | null, string | null];
    if (signal !== "SIGKILL") throw new Error(`the writer ended by itself in cycle ${cycle.toString()}`);
  }
  return countIn(folder, runtime, taken);
}

function countIn(folder: string, runtime: string, taken: number): Kills {
  const db = new Database(storePath(folder));
  const rows = db.prepare<[], LogRow>("SELECT * FROM log ORDER BY first_seq").all();
  const { last_take } = db.prepare<[], { last_take: number }>("SELECT last_take FROM stream").get() ?? { last_take: 0 };
  db.close();
  const numbers = rows.flatMap((row) => unpackLog(row)).map(({ value }) => Number(value));
  const tail = openTail(runtime);
  for (const entry of tail.leftover()) {
    if (entry.take > last_take && entry.kind === "record") numbers.push(Number(entry.record.value));
  }
  tail.close();
  const seen = new Set(numbers);
  const lost = Array.from({ length: taken }, (_, i) => i + 1).filter((number) => !seen.has(number)).length;
  return { taken, lost, doubled: numbers.length - seen.size };
}
