import { readdirSync, readFileSync } from "node:fs";

/** Memory in MB of 1,000,000 bytes. */
export interface Memory {
  readonly resident_mb: number;
  /** Memory that is neither shared with other processes nor backed by a file. */
  readonly private_mb: number;
}

/** Returns the memory of a process with its threads, as Linux reports it. */
export function memoryOf(pid: number): Memory {
  const lines = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  const mb = (name: string): number =>
    (Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(lines)?.[1]) * 1024) / 1_000_000;
  return { resident_mb: mb("Rss"), private_mb: mb("Private_Dirty") };
}

/** Returns the CPU seconds that a process and its threads have used. */
export function cpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
  // utime and stime are in ticks. Linux always reports 100 ticks a second to programs.
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** Returns the bytes that a process has written to disks, which the kernel counts when a page becomes dirty. */
export function writtenBytes(pid: number): number {
  return Number(/^write_bytes: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, "utf8"))?.[1]);
}

/** Counts the open file descriptors of a process. */
export function openFilesOf(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}
