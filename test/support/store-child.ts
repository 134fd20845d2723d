import { openTail } from "../../src/store/tail.ts";
import { reading } from "./records.ts";
import { writerIn } from "./store.ts";

/**
 * Takes readings, numbered, as fast as it can: each into the tail, then told to the parent, then committed in groups.
 * Begins with what a killed one left in the tail. Runs until it is killed.
 */
const [folder = "", runtime = ""] = process.argv.slice(2);
const writer = writerIn(folder);
const tail = openTail(runtime);
const { stream, last_take } = writer.openStream("booth-1");
const left = tail.leftover().filter((entry) => entry.stream === stream && entry.take > last_take);
const records = left.flatMap((entry) => (entry.kind === "record" ? [entry.record] : []));
let take = Math.max(last_take, ...left.map((entry) => entry.take));
if (records.length > 0) writer.ingest(stream, records, take);
tail.committed(stream, take);
process.send?.({ stream, replayed: take });

function group(): void {
  const taken = Array.from({ length: 10 }, () => {
    const record = reading(++take * 1_000, "number", take);
    tail.append({ kind: "record", take, stream, record });
    process.send?.({ taken: take });
    return record;
  });
  writer.ingest(stream, taken, take);
  tail.committed(stream, take);
  setImmediate(group);
}
group();
