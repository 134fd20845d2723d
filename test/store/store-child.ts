import { writeSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { recordsOf } from "../../src/acquisition/rules/records.ts";
import type { TakenEntry } from "../../src/domain/taken.ts";
import { openTail } from "../../src/acquisition/tail.ts";
import { BOOTH, entryOf, writerOf } from "./power/power-bed.ts";

/**
 * Takes polls, numbered, as fast as it can: each into the tail, then told, then committed in groups; what is committed is
 * delivered, told and acked, and the small budget thins what was acked. Begins with what a killed one left in the tail.
 * Runs until it is killed. A line, written before anything follows from it: "t TAKE", or "d SEQ TAKE".
 */
const STDOUT = 1;
const GROUP = 10;
/** Delivery stops for a while now and then, and has a backlog afterwards. */
const OUTAGE = { every: 1_000, lasts: 100 };

// A process that is killed writes no cache at its end, and would leave the next one to compile everything again.
flushCompileCache();
const [folder = "", runtime = ""] = process.argv.slice(2);
const writer = writerOf(folder);
const tail = openTail(runtime);
const { stream, last_take } = writer.openStream(BOOTH);
const left = tail.leftover().filter((entry) => entry.stream === stream && entry.take > last_take);
let take = Math.max(last_take, ...left.map((entry) => entry.take));
commit(left);

function commit(entries: readonly TakenEntry[]): void {
  if (entries.length > 0)
    writer.ingest(
      stream,
      recordsOf(entries, () => 5_000),
      take,
    );
  tail.committed(stream, take);
}

function deliver(): void {
  const { acked_seq } = writer.info(stream);
  const records = writer.read(stream, acked_seq + 1, 100);
  const lines = records.flatMap((record) =>
    record.tag === "number" ? [`d ${record.seq} ${Number(record.value)}\n`] : [],
  );
  if (lines.length > 0) writeSync(STDOUT, lines.join(""));
  writer.ack(stream, records.at(-1)?.seq ?? acked_seq);
}

function turn(): void {
  const entries = Array.from({ length: GROUP }, () => {
    const entry = entryOf(stream, ++take);
    tail.append([entry]);
    writeSync(STDOUT, `t ${take}\n`);
    return entry;
  });
  commit(entries);
  if (take % OUTAGE.every >= OUTAGE.lasts) deliver();
  setImmediate(turn);
}
turn();
