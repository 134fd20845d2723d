import { readFileSync } from "node:fs";
import Database from "better-sqlite3";
import { history as historyIn } from "../../src/reports/values.ts";
import { byteSource, inflated } from "../../src/store/log/columns.ts";
import { openReader } from "../../src/store/reader.ts";
import { openStoreFile, storePath } from "../../src/store/open.ts";
import { createWriter } from "../../src/store/thread/writer.ts";
import { median } from "./figure.ts";
import { SIXTY_TAGS_T0 } from "./sixty-tags.ts";
import { DAY_MS } from "../../src/domain/time.ts";

/**
 * Opens a filled store as a restarted agent does and prints what that took, in CPU and in time, then what one tag's history of
 * a day costs, the first time and later, beside the least that it can cost, and the memory in use. Printed as JSON.
 */
const [folder = "", days = "1", rounds = "3"] = process.argv.slice(2);
const TAG = "counter_1";

function costOf(act: () => void): { readonly ms: number; readonly cpu_ms: number } {
  const begun = performance.now();
  const before = process.cpuUsage();
  act();
  const { user, system } = process.cpuUsage(before);
  return { ms: performance.now() - begun, cpu_ms: (user + system) / 1_000 };
}

/** Both blocks of a chunk inflated and the tag's own numbers taken from them: docs/wire.md describes the format. */
function numbersOf(packed: Buffer): number {
  const head = byteSource(packed.subarray(2));
  head.number();
  for (let runs = 2 * head.number(); runs > 0; runs -= 1) head.number();
  const first = head.number();
  const second = head.number();
  const at = 2 + head.at();
  const list = byteSource(inflated(packed.subarray(at, at + first)));
  const values = inflated(packed.subarray(at + first, at + first + second));
  let from = 0;
  for (let series = list.number(); series > 0; series -= 1) {
    list.number();
    const tag = list.block();
    list.number();
    const count = list.number();
    const bytes = list.number();
    if (tag.toString("latin1") === TAG) {
      const own = byteSource(values.subarray(from, from + bytes));
      for (let left = count; left > 0; left -= 1) own.number();
      return count;
    }
    from += bytes;
  }
  return 0;
}

const clocks = { now: () => performance.now(), wall: () => SIXTY_TAGS_T0, uuid: () => "none" };
let close = (): void => undefined;
const start = costOf(() => {
  const writer = createWriter({ db: openStoreFile(folder), ...clocks });
  writer.openStream("booth-1");
  close = () => writer.close();
});
const after = Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? 0);
const reader = openReader(folder);
const [stream] = reader.streams();
const window = { start: SIXTY_TAGS_T0 + (Number(days) - 1) * DAY_MS, end: SIXTY_TAGS_T0 + Number(days) * DAY_MS };
let found = 0;
const askDay = (): void => {
  found = 0;
  const values = historyIn({ reader, stream: stream?.stream ?? "", now_ms: window.end }, window, [TAG]);
  for (const { tag } of values) if (tag === TAG) found += 1;
};
const db = new Database(storePath(folder), { readonly: true });
const chunks = db.prepare<[number], Buffer>("SELECT packed FROM log WHERE t0 >= ?").pluck().all(window.start);
db.close();
const first = costOf(askDay);
const own: number[] = [];
const least: number[] = [];
for (let round = 0; round < Number(rounds); round += 1) {
  own.push(costOf(askDay).cpu_ms);
  least.push(costOf(() => chunks.forEach(numbersOf)).cpu_ms);
}
reader.close();
close();
const history = { first_cpu_ms: first.cpu_ms, cpu_ms: median(own), least_cpu_ms: median(least), found };
process.stdout.write(JSON.stringify({ start, history, memory_mb: (after * 1_024) / 1e6 }));
