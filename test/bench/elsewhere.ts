import { execFileSync } from "node:child_process";
import { cpus } from "node:os";

/**
 * Who looks, and the service, stand at other machines: what they do here mustn't take the processor from what is measured. They have the
 * last core alone, and only while nobody else wants it: to the kernel, a core that is busy with nothing else counts as free.
 */
export function putElsewhere(pid: number): void {
  execFileSync("chrt", ["--all-tasks", "--idle", "--pid", "0", pid.toString()]);
  const last = cpus().length - 1;
  if (last > 0) execFileSync("taskset", ["--all-tasks", "--cpu-list", "--pid", last.toString(), pid.toString()]);
}
