import { execFileSync, spawn } from "node:child_process";
import { cpus } from "node:os";

const CORES = cpus().map((_, core) => core);
/** A real-time priority: above everything else that runs here. */
const PRIORITY = "50";

/**
 * Puts a process behind all others, on the last core: it stands for another machine and mustn't take the processor from what is measured.
 * To the kernel, a core that is busy with such a process alone counts as free.
 */
export function putElsewhere(pid: number): void {
  execFileSync("chrt", ["--all-tasks", "--idle", "--pid", "0", pid.toString()]);
  const last = CORES.length - 1;
  if (last > 0) execFileSync("taskset", ["--all-tasks", "--cpu-list", "--pid", last.toString(), pid.toString()]);
}

/**
 * Puts this process, which plays the PLCs and notes when they are asked, above all others: it stands for another machine, too. Only root may
 * do that; for anybody else the waiting of this process is part of the figure. Returns the function that undoes it.
 */
export function standAbove(): () => void {
  const own = process.pid.toString();
  const isGiven = scheduled(["--all-tasks", "--fifo", "--pid", PRIORITY, own]);
  return () => {
    if (isGiven) scheduled(["--all-tasks", "--other", "--pid", "0", own]);
  };
}

function scheduled(argv: readonly string[]): boolean {
  try {
    execFileSync("chrt", argv, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** Wakes twice a millisecond. */
const BEAT = "select(undef, undef, undef, 0.0005) while 1";

/**
 * Makes the kernel let a woken thread run at once, as Debian 12's does by its source. A kernel that preempts nothing (PREEMPT_NONE) leaves
 * a core to its thread until the next tick, for 4 ms; a process that wakes on each core twice a millisecond, above everything else, makes it
 * look as often, for 3 % of a core. Returns the function that ends it, or null if this user may not do that.
 */
export function lookOften(): (() => void) | null {
  if (!scheduled(["--fifo", PRIORITY, "true"])) return null;
  const beats = CORES.map((core) =>
    spawn("chrt", ["--fifo", PRIORITY, "taskset", "--cpu-list", core.toString(), "perl", "-e", BEAT], {
      stdio: "ignore",
    }),
  );
  return () => {
    for (const beat of beats) beat.kill();
  };
}
