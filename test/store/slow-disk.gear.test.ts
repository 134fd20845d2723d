import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { recordFault } from "../support/faults.ts";
import { temporaryFolder } from "../support/temporary.ts";

const SHIM = fileURLToPath(new URL("../support/slow-sync.c", import.meta.url));
const CHILD = fileURLToPath(new URL("../support/slow-child.ts", import.meta.url));

it("while every fsync takes two seconds the thread that polls goes on turning", () => {
  const folder = temporaryFolder();
  const shim = join(folder, "slow-sync.so");
  const built = spawnSync("cc", ["-shared", "-fPIC", "-o", shim, SHIM, "-ldl"], { encoding: "utf8" });
  expect(built.stderr).toBe("");
  const { stdout } = spawnSync(process.execPath, [CHILD, join(folder, "data")], {
    encoding: "utf8",
    env: { ...process.env, LD_PRELOAD: shim, SLOW_SYNC_WHILE: join(folder, "slow") },
  });
  const commits = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { turns: number; commit_ms: number });
  process.stdout.write(`${JSON.stringify(commits)}\n`);
  expect(commits).toHaveLength(3);
  // 2 s hold 200 turns of 10 ms; a thread that waited for the disk would have had one or two.
  const passed = commits.every(({ turns, commit_ms }) => turns > 50 && commit_ms >= 2_000);
  recordFault({ row: 10, fault: "fsync takes 2 s", injected: 3, lost: 0, doubled: 0, wrong: 0, passed });
  expect(passed).toBe(true);
});
