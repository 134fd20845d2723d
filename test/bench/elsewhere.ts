import { execFileSync } from "node:child_process";
import { constants, cpus, setPriority } from "node:os";

/**
 * Who looks, and the service, stand at other machines: what they do here mustn't take the processor from what is measured. They come
 * behind all others, and on the last core alone, so that the agent finds one free as on its box.
 */
export function putElsewhere(pid: number): void {
  setPriority(pid, constants.priority.PRIORITY_LOW);
  const last = cpus().length - 1;
  if (last > 0) execFileSync("taskset", ["--all-tasks", "--cpu-list", "--pid", last.toString(), pid.toString()]);
}
