import Database from "better-sqlite3";
import { history as historyIn } from "../../src/reports/values.ts";
import { ByteSource, inflated } from "../../src/store/log/columns.ts";
import { openReader } from "../../src/store/reader.ts";
import { openStoreFile, storePath } from "../../src/store/open.ts";
import { createWriter } from "../../src/store/thread/writer.ts";
import { SIXTY_TAGS_T0 } from "../support/sixty-tags.ts";
import { cpuMs, interleaved } from "./figure.ts";
import { DAY_MS } from "../../src/domain/time.ts";

/** Opens a filled store as a restarted agent does, then asks for one tag's history of a day. Prints what both took as JSON. */
const [folder = "", days = "1", rounds = "3"] = process.argv.slice(2);
const TAG = "counter_1";

/** Inflates both blocks of a chunk and reads the numbers of the tag: docs/reference/wire.md describes the format. */
function numbersOf(packed: Buffer): number {
  const head = new ByteSource(packed.subarray(2));
  head.number();
  for (let runs = 2 * head.number(); runs > 0; runs -= 1) head.number();
  const first = head.number();
  const second = head.number();
  const at = 2 + head.at;
  const list = new ByteSource(inflated(packed.subarray(at, at + first)));
  const values = inflated(packed.subarray(at + first, at + first + second));
  let from = 0;
  for (let series = list.number(); series > 0; series -= 1) {
    list.number();
    const tag = list.block();
    list.number();
    const count = list.number();
    const bytes = list.number();
    if (tag.toString("latin1") === TAG) {
      const own = new ByteSource(values.subarray(from, from + bytes));
      for (let left = count; left > 0; left -= 1) own.number();
      return count;
    }
    from += bytes;
  }
  return 0;
}

const clocks = { now: () => performance.now(), wall: () => SIXTY_TAGS_T0, uuid: () => "none" };
const begun = performance.now();
const writer = createWriter({ db: openStoreFile(folder), ...clocks });
writer.openStream("booth-1");
const start_ms = performance.now() - begun;
const reader = openReader(folder);
const [stream] = reader.streams();
const window = { start: SIXTY_TAGS_T0 + (Number(days) - 1) * DAY_MS, end: SIXTY_TAGS_T0 + Number(days) * DAY_MS };
const askDay = (): void => {
  const values = historyIn({ reader, stream: stream?.stream ?? "", now_ms: window.end }, window, [TAG]);
  let found = 0;
  for (const { tag } of values) if (tag === TAG) found += 1;
  if (found === 0) throw new Error("the day has no history");
};
const db = new Database(storePath(folder), { readonly: true });
const chunks = db.prepare<[number], Buffer>("SELECT packed FROM log WHERE t0 >= ?").pluck().all(window.start);
db.close();
askDay(); // the first one opens what later ones use
const { cpu_ms, least_cpu_ms } = await interleaved(Number(rounds), {
  cpu_ms: () => cpuMs(askDay),
  least_cpu_ms: () => cpuMs(() => chunks.forEach(numbersOf)),
});
reader.close();
writer.close();
process.stdout.write(JSON.stringify({ start_ms, history: { cpu_ms, least_cpu_ms } }));
