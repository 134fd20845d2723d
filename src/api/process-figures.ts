import { readFile } from "node:fs/promises";
import type { ProcessFigures } from "./metrics.ts";

export async function processFigures(): Promise<ProcessFigures> {
  const { rss, heapUsed } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  return {
    resident_bytes: rss,
    heap_bytes: heapUsed,
    cpu_seconds: (user + system) / 1e6,
    written_bytes: await writtenBytes(),
  };
}

/** proc(5), /proc/pid/io: bytes that the process caused to be sent to the storage layer. Closed to some hardened units. */
async function writtenBytes(): Promise<number | null> {
  const text = await readFile("/proc/self/io", "utf8").catch(() => "");
  const found = /^write_bytes: (\d+)$/m.exec(text)?.[1];
  return found === undefined ? null : Number(found);
}
