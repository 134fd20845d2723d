// Needs a Debian package: gcc (with libc6-dev).
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { recordFault } from "../support/faults.ts";
import { temporaryFolder } from "../support/temporary.ts";

const SHIM = fileURLToPath(new URL("./slow-sync.c", import.meta.url));
const CHILD = fileURLToPath(new URL("./slow-child.ts", import.meta.url));

it("fsyncs that take two seconds don't block the thread that polls", () => {
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
  // In 2 s there are 200 turns of 10 ms. A thread that waits for the disk has one or two.
  const slow = commits.filter(({ commit_ms }) => commit_ms >= 2_000);
  const wrong = slow.filter(({ turns }) => turns <= 50).length;
  recordFault({
    row: 10,
    fault: "fsync takes 2 s",
    injected: slow.length,
    lost: 3 - commits.length,
    doubled: 0,
    wrong,
    passed: wrong === 0 && slow.length === 3,
  });
  expect({ slow: slow.length, wrong }).toEqual({ slow: 3, wrong: 0 });
});
