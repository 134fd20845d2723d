import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Call, Io } from "../../src/tools/command.ts";
import { dispatch } from "../../src/cli/dispatch.ts";
import type { Program } from "../../src/cli/parse.ts";
import { eventually } from "../support/eventually.ts";
import { GATEWAY, MANY_PROCESSES_MS, runProgram } from "../support/processes.ts";
import { plcSite } from "./plc-site.ts";
import { say } from "./say.ts";
import { temporaryFolder } from "../support/temporary.ts";

const STATUS = {
  agent_version: "0",
  gateway_id: "gateway",
  at: 60_000,
  started_at: 0,
  boot: "boot",
  clock: { synced: true, offset_ms: 0 },
  lacks: [],
  outputs: [],
  notices: [],
  shared: [],
  service: { kind: "up", since: 0, url: "https://service.example", broker_url: null },
  booths: [],
  disabled: [{ booth: "booth-2", serial: null, since: 0, file: "f", line: 1, reason: "wrong", advice: "correct it" }],
  certificates: [],
  loss_window_ms: 10_000,
  config_refused: null,
  needs_restart: [],
};

/** An agent that says what it is told to, and goes on delivering 25 records with each look. Returns its runtime folder. */
async function scriptedAgent(): Promise<string> {
  const folder = temporaryFolder();
  let acked_seq = 0;
  const server = createServer(({ url }, answer) => {
    if (url === "/backlog") acked_seq = Math.min(100, acked_seq + 25);
    const backlog = [{ booth: "booth-1", newest_seq: 100, acked_seq, oldest_at: null, hours_to_full: null }];
    answer.end(JSON.stringify(url === "/backlog" ? backlog : STATUS));
  });
  await new Promise<void>((resolve) => server.listen(join(folder, "agent.sock"), resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return folder;
}

/** A command on a terminal of its own (util-linux's script); with `until` it is ended by Ctrl-C once it has said that. */
async function onTerminal(
  folder: string,
  words: string,
  { until, no_color = "" }: { readonly until?: string; readonly no_color?: string } = {},
): Promise<string> {
  const env = { PATH: process.env["PATH"] ?? "", RUNTIME_DIRECTORY: folder, NO_COLOR: no_color, TERM: "xterm" };
  // In the shell's place: Ctrl-C reaches whoever runs on the terminal.
  const command = `exec '${process.execPath}' '${GATEWAY}' ${words}`;
  const child = spawn("script", ["-qfec", command, "/dev/null"], { env, stdio: ["pipe", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (said += text));
  const ended = new Promise<number | null>((resolve) => void child.once("close", (code) => resolve(code)));
  if (until !== undefined) {
    await eventually(until, () => (said.includes(until) ? true : undefined));
    child.stdin.write("\u0003");
  }
  expect([await ended, said]).toEqual([0, said]);
  return said;
}

describe("on a terminal", { timeout: MANY_PROCESSES_MS }, () => {
  it("states have colours, unless NO_COLOR says no, or it is no terminal", async () => {
    const folder = await scriptedAgent();
    const coloured = await onTerminal(folder, "status");
    expect(coloured).toContain("\u001b[32mup\u001b[0m for 1 min");
    expect(coloured).toContain("\u001b[31mDISABLED\u001b[0m");
    expect(await onTerminal(folder, "status", { no_color: "1" })).not.toContain("\u001b[3");
    const env = { RUNTIME_DIRECTORY: folder, NO_COLOR: "" };
    const piped = await runProgram(GATEWAY, ["status"], { env });
    expect(piped).toMatchObject({ code: 0, err: "" });
    expect(piped.out).not.toContain("\u001b");
  });

  it("a watched backlog is drawn in place, with a bar, until Ctrl-C", async () => {
    const said = await onTerminal(await scriptedAgent(), "backlog --watch", { until: "nothing waits" });
    expect(said).toContain("\u001b[H\u001b[J");
    expect(said).toContain("75 records wait for the service");
    expect(said).toContain(`[${"#".repeat(10)}${".".repeat(20)}] 33 %`);
    expect(said).toContain("Ctrl-C ends it.");
  });

  it("a recording shows how far it is, and takes the bar away before it says what came of it", async () => {
    const { configFile } = await plcSite();
    const folder = temporaryFolder();
    const words = `record --for 1.2s --config '${configFile}' --out '${join(folder, "booth.trace")}'`;
    const said = await onTerminal(folder, words);
    expect(said).toMatch(/\[#+\.*\] \d+ %/);
    expect(said).toMatch(/\r[^\n]*booth\.trace: \d+ answers, 0 requests without one/);
  });
});

describe("a signal", () => {
  const TERMINAL = new URL("../../src/cli/terminal.ts", import.meta.url).href;
  /** A program with the process's signals as a command has them, that waits for nothing else. */
  const waiting = async (begins: string): Promise<number | string> => {
    const said = `io.signal.addEventListener("abort", () => process.exit(7)); setInterval(() => undefined, 1e6); console.log("ready");`;
    const code = `const { terminalIo } = await import(${JSON.stringify(TERMINAL)}); const io = terminalIo(); ${begins} ${said}`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", code], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    const ended = new Promise<number | string>((resolve) => {
      child.once("exit", (exit, signal) => resolve(exit ?? signal ?? ""));
    });
    await Promise.race([ended, new Promise((resolve) => void child.stdout.once("data", resolve))]);
    child.kill("SIGTERM");
    return ended;
  };

  it("while a command is still being loaded ends the process by itself, in order", async () => {
    expect(await waiting("")).toBe(0);
  });

  it("once it has begun is told to the command, which ends when it has brought things to an end", async () => {
    expect(await waiting("io.begins();")).toBe(7);
  });
});

it("a command begins once its code is there", async () => {
  const done: string[] = [];
  const command = { name: "c", summary: "", operands: [], options: {}, notes: [], examples: [] };
  const program: Program = {
    name: "p",
    summary: "",
    version: "0",
    groups: [{ title: "", commands: [command] }],
    runOf: () => {
      done.push("loaded");
      return Promise.resolve(() => {
        done.push("run");
        return Promise.resolve(0);
      });
    },
  };
  const io: Io = {
    out: () => undefined,
    err: () => undefined,
    isTerminal: false,
    colours: false,
    progress: () => undefined,
    ask: () => Promise.resolve(null),
    environment: {},
    signal: new AbortController().signal,
    begins: () => void done.push("begins"),
  };
  expect(await dispatch(program, ["c"], io)).toBe(0);
  expect(done).toEqual(["loaded", "begins", "run"]);
});

it("a command that tells nothing of itself for two seconds is said to be at work, until it speaks", async () => {
  const shown: string[] = [];
  const seen = Promise.withResolvers<undefined>();
  const progress = (text: string): void => {
    shown.push(text);
    if (text !== "") seen.resolve(undefined);
  };
  const status = async ({ io }: Call): Promise<number> => {
    await seen.promise;
    io.out("done");
    return 0;
  };
  const said = await say(["status"], { runs: { status }, io: { progress } });
  expect(said).toEqual({ code: 0, out: "done", err: "" });
  expect(shown[0]).toMatch(/^status: at work for \d+ s$/);
  expect(shown.at(-1)).toBe("");
});
