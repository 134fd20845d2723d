import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { eventually } from "../support/eventually.ts";
import { realSite, SERIAL } from "../support/real-site.ts";
import { temporaryFolder } from "../support/temporary.ts";

const MADE_AT = "1767225600";
/** Debian's cross libraries, from libc6-arm64-cross and libstdc++6-arm64-cross. */
const ARM64_LIBRARIES = "/usr/aarch64-linux-gnu";

/** Number of takes (mostly polls) that the agent must have made. */
const POLLS = 20;
const EMULATED_WITHIN_MS = 300_000;

function ownVersion(): string {
  // The project's own file.
  return (JSON.parse(readFileSync("package.json", "utf8")) as { version: string }).version;
}

/** Makes all packages, with fast compression if the test doesn't depend on compression. */
function makeAll(folder: string, options: readonly string[]): string[] {
  mkdirSync(folder, { recursive: true });
  return execFileSync(process.execPath, ["systemd/package/main.ts", "--out", folder, ...options], {
    encoding: "utf8",
    env: { ...process.env, SOURCE_DATE_EPOCH: MADE_AT },
  })
    .trim()
    .split("\n");
}

/** Unpacks the package. `run` returns the output of a program run with the package's Node. */
function arm64Agent(folder: string) {
  const [file = ""] = makeAll(folder, ["--quick", "--arch", "arm64"]);
  const root = join(folder, "root");
  execFileSync("dpkg-deb", ["-x", file, root]);
  const launcher = readFileSync(join(root, "usr/lib/booth-gateway/booth-gateway"), "utf8");
  const node = join(root, /^#!(\S+)/.exec(launcher)?.[1] ?? "");
  const command = (...args: string[]): [string, string[]] => [
    "qemu-aarch64-static",
    ["-L", ARM64_LIBRARIES, node, ...args],
  ];
  const run = (...args: string[]): string =>
    execFileSync(...command(...args), { encoding: "utf8", cwd: join(node, "../..") });
  return { root, agent: join(root, "usr/lib/booth-gateway/booth-gateway"), command, run };
}

it("the arm64 package runs its Node.js, its addons and its check command under emulation", () => {
  const { root, agent, run } = arm64Agent(temporaryFolder());
  expect(run("-p", "process.arch").trim()).toBe("arm64");
  expect(
    run("-p", 'const D = require("better-sqlite3"); new D(":memory:").prepare("SELECT 6 * 7 AS x").get().x').trim(),
  ).toBe("42");
  expect(run("-p", 'typeof require("@serialport/bindings-cpp").autoDetect().open').trim()).toBe("function");
  expect(run(agent, "--version")).toContain(ownVersion());
  expect(run(join(root, "usr/lib/booth-gateway/bench"), "--help")).toContain("--seconds N");
  expect(run(agent, "check", "--config", join(root, "usr/share/booth-gateway/gateway.yaml"))).toContain("booth-1");
});

it("the arm64 agent polls a booth, stores records, binds the booth and delivers records under emulation", async () => {
  const { agent, command } = arm64Agent(temporaryFolder());
  const site = await realSite({ speed: 1, serial: SERIAL });
  const child = spawn(...command(agent, "run", "--config", site.configFile), { stdio: "ignore" });
  const ended = once(child, "exit");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  const booth = await eventually(
    "records of many polls are acked",
    async () => (await site.status())?.booths.find(({ log }) => log.acked_seq > 0 && log.taken >= POLLS),
    EMULATED_WITHIN_MS,
  );
  process.stdout.write(`arm64 under emulation: ${booth.log.taken} polls, ${booth.log.acked_seq} records acked\n`);
  expect(booth).toMatchObject({ serial: SERIAL, provisioning: { state: "active" }, plc: { kind: "up" } });
  child.kill("SIGTERM");
  await ended;
  expect(child.exitCode).toBe(0);
});
