import { readdirSync, readFileSync } from "node:fs";

/** MB of a million bytes. */
export interface Memory {
  readonly resident_mb: number;
  /** What is neither shared with other processes nor backed by a file. */
  readonly private_mb: number;
}

/** Of a process with its threads, as Linux tells it. */
export function memoryOf(pid: number): Memory {
  const lines = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  const mb = (name: string): number =>
    (Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(lines)?.[1]) * 1024) / 1_000_000;
  return { resident_mb: mb("Rss"), private_mb: mb("Private_Dirty") };
}

/** CPU that a process, with its threads, has used so far. */
export function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  // utime and stime in ticks, of which Linux tells programs that there are 100 a second, whatever its own clock.
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** Bytes that a process has had written to disks so far, as the kernel counts them: by what it made dirty. */
export function writtenBytes(pid: number): number {
  return Number(/^write_bytes: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, "utf8"))?.[1]);
}

/** File descriptors that a process has open. */
export function openFilesOf(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}
