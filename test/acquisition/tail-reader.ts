import { parentPort, workerData } from "node:worker_threads";
import { leftoverOf } from "../../src/acquisition/committer.ts";
import { openTail } from "../../src/acquisition/tail.ts";

/** A thread that opens a tail, reads all entries of a stream, and reports the number of entries and its last state. */
const { folder, stream } = workerData as { readonly folder: string; readonly stream: string };
const tail = openTail(folder);
const leftover = leftoverOf(tail, { stream, last_take: 0, end: null });
let found = 0;
for (let part = leftover.next(1_000); part.length > 0; part = leftover.next(1_000)) {
  found += part.length;
  tail.committed(stream, part.at(-1)?.take ?? 0);
}
parentPort?.postMessage({
  found,
  expected: leftover.count,
  last_take: leftover.last_take,
  left: tail.leftover().length,
});
