import { execFileSync, spawn } from "node:child_process";
import { cpus } from "node:os";

const CORES = cpus().map((_, core) => core);
/** Of real time: above everything else that runs here. */
const PRIORITY = "50";

/**
 * Who looks, and the service, stand at other machines: what they do here mustn't take the processor from what is measured. They have the
 * last core alone, and only while nobody else wants it: to the kernel, a core that is busy with nothing else counts as free.
 */
export function putElsewhere(pid: number): void {
  execFileSync("chrt", ["--all-tasks", "--idle", "--pid", "0", pid.toString()]);
  const last = CORES.length - 1;
  if (last > 0) execFileSync("taskset", ["--all-tasks", "--cpu-list", "--pid", last.toString(), pid.toString()]);
}

/**
 * This process plays the PLCs and notes when they are asked: it is another machine, too, and what is measured doesn't keep it waiting. Root alone
 * may say so; for anybody else its own waiting is in the figure. Returns what takes it back.
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
 * A kernel may leave a core to whom it has given it until its next tick, whoever has woken meanwhile: 4 ms where nothing preempts a thread
 * (PREEMPT_NONE), to the service's too, though it stands behind all of the box's. By its source Debian 12's lets a woken thread run at once. Something that
 * wakes on each core twice a millisecond, above everything else, makes any kernel look as often; it takes 3 % of a core. Root alone may do that:
 * null for anybody else. Else what ends it.
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
