import { readFileSync } from "node:fs";
import { history as historyIn } from "../../src/reports/values.ts";
import { openReader } from "../../src/store/reader.ts";
import { openStoreFile } from "../../src/store/open.ts";
import { createWriter } from "../../src/store/thread/writer.ts";
import { SIXTY_TAGS_T0 } from "./sixty-tags.ts";

/**
 * Opens a filled store as a restarted agent does and prints what that took, in CPU and in time, then what one tag's history of
 * a day costs, and the memory in use. Printed as JSON.
 */
const [folder = "", days = "1"] = process.argv.slice(2);
const DAY_MS = 86_400_000;

function costOf(act: () => void): { readonly ms: number; readonly cpu_ms: number } {
  const [begun, before] = [performance.now(), process.cpuUsage()];
  act();
  const { user, system } = process.cpuUsage(before);
  return { ms: performance.now() - begun, cpu_ms: (user + system) / 1_000 };
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
const history = costOf(() => {
  const values = historyIn({ reader, stream: stream?.stream ?? "", now_ms: window.end }, window, ["counter_1"]);
  for (const { tag } of values) if (tag === "counter_1") found += 1;
});
reader.close();
close();
process.stdout.write(JSON.stringify({ start, history, found, memory_mb: (after * 1_024) / 1e6 }));
