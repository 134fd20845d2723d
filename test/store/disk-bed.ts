import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import type { KeptStore } from "../../src/store/thread/keeper.ts";
import { allRecords, keptStoreIn } from "../support/store.ts";
import { temporaryFolder } from "../support/temporary.ts";

const CHILD = fileURLToPath(new URL("./disk-child.ts", import.meta.url));

/** Mounts a small file system in memory for one test. Needs root. */
export function smallDisk(
  megabytes: number,
  folder: string = temporaryFolder(),
): { readonly folder: string; remount(options: string): void } {
  run("mount", "-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", folder);
  onTestFinished(() => run("umount", "-l", folder));
  return { folder, remount: (options) => run("mount", "-o", `remount,${options}`, folder) };
}

function run(command: string, ...args: string[]): void {
  const { status, stderr } = spawnSync(command, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")}: ${stderr}`);
}

/** Opens a kept store under a clock that the test moves. */
export function storeOn(dataDir: string, ballast_bytes: number): { readonly store: KeptStore; pass(ms: number): void } {
  let now = 0;
  return { store: keptStoreIn(dataDir, { ballast_bytes, now: () => now }), pass: (ms) => void (now += ms) };
}

/** Results of a child process that committed on a failing disk. */
export interface DiskRun {
  /** Numbers up to this one were reported as durable. */
  readonly durable: number;
  /** Number of failed commits by code. */
  readonly failures: Readonly<Record<string, number>>;
}

/**
 * Runs the child under libfiu's faults until it ends by itself. `on` may switch faults by the child's process id. The
 * child waits until `on` has handled its line, and libfiu answers a command only once it is in effect.
 */
export async function runFailing(
  how: { readonly folder: string; readonly commits: number },
  on: (line: string, control: (fault: string) => void) => void,
): Promise<DiskRun> {
  const control = `${how.folder}-fiu`;
  const child = spawn("fiu-run", ["-x", "-f", control, process.execPath, CHILD, how.folder, how.commits.toString()], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = once(child, "exit") as Promise<[number | null, string | null]>;
  const failures: Record<string, number> = {};
  let durable = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    const [what, value = ""] = line.split(" ");
    if (what === "c") durable = Number(value);
    else failures[value] = (failures[value] ?? 0) + 1;
    on(line, (fault) => run("fiu-ctrl", "-f", control, "-c", fault, (child.pid ?? 0).toString()));
    child.stdin.write("\n");
  }
  const [code] = await ended;
  if (code !== 0) throw new Error(`the child ended with ${String(code)}`);
  return { durable, failures };
}

/** Counts the numbers up to `durable` that the store lacks, and those that it has more than once. */
export function countNumbers(folder: string, durable: number): { readonly lost: number; readonly doubled: number } {
  const store = keptStoreIn(folder);
  store.openStream("booth-1");
  const readings = allRecords(store).filter(({ kind, tag }) => kind === "r" && tag === "number");
  const numbers = readings.map(({ value }) => Number(value));
  store.close();
  const seen = new Set(numbers);
  const lost = Array.from({ length: durable }, (_, i) => i + 1).filter((number) => !seen.has(number)).length;
  return { lost, doubled: numbers.length - seen.size };
}
