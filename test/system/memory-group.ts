import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A control group with a memory limit that includes the file cache, for cgroup v1 and v2. Needs root. */
export interface MemoryGroup {
  /** A process joins the group when its id is written to this file. */
  readonly procs: string;
  /** Returns memory in MB, and the number of processes that the kernel has killed. */
  read(): { readonly anonymous: number; readonly cache: number; readonly peak: number; readonly kills: number };
  remove(): void;
}

const MB = 1_000_000;

export function memoryGroup(limit_bytes: number): MemoryGroup {
  const isOld = existsSync("/sys/fs/cgroup/memory/memory.stat");
  const folder = join(isOld ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup", `booth-gateway-test-${process.pid}`);
  const names = isOld
    ? {
        limit: "memory.limit_in_bytes",
        peak: "memory.max_usage_in_bytes",
        anonymous: "rss",
        cache: "cache",
        kills: "memory.oom_control",
      }
    : { limit: "memory.max", peak: "memory.peak", anonymous: "anon", cache: "file", kills: "memory.events" };
  mkdirSync(folder);
  writeFileSync(join(folder, names.limit), String(limit_bytes));
  const statistic = (name: string): number =>
    Number(new RegExp(`^${name} (\\d+)$`, "m").exec(readFileSync(join(folder, "memory.stat"), "utf8"))?.[1]) / MB;
  return {
    procs: join(folder, "cgroup.procs"),
    read: () => ({
      anonymous: statistic(names.anonymous),
      cache: statistic(names.cache),
      kills: Number(/^oom_kill (\d+)$/m.exec(readFileSync(join(folder, names.kills), "utf8"))?.[1]),
      peak: Number(readFileSync(join(folder, names.peak), "utf8")) / MB,
    }),
    remove: () => rmdirSync(folder),
  };
}
