import { spawn } from "node:child_process";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Call } from "../../src/tools/command.ts";
import { dispatch } from "../../src/cli/dispatch.ts";
import type { Program } from "../../src/cli/parse.ts";
import { eventually } from "../support/eventually.ts";
import { GATEWAY, MANY_PROCESSES_MS, runProgram } from "../support/processes.ts";
import { plcSite } from "./plc-site.ts";
import { quietIo, say } from "./say.ts";
import { EMPTY_STATUS, scriptedAgent } from "./scripted-agent.ts";
import { temporaryFolder } from "../support/temporary.ts";

const DISABLED = {
  booth: "booth-2",
  serial: null,
  since: 0,
  file: "f",
  line: 1,
  reason: "wrong",
  advice: "correct it",
};

/** Starts an agent that delivers 25 records between two requests for the backlog. Returns its runtime folder. */
function deliveringAgent(): Promise<string> {
  let acked_seq = 0;
  return scriptedAgent((path) => {
    if (path !== "/backlog") return { ...EMPTY_STATUS, disabled: [DISABLED] };
    acked_seq = Math.min(100, acked_seq + 25);
    return [{ booth: "booth-1", newest_seq: 100, acked_seq, oldest_at: null, hours_to_full: null }];
  });
}

/** Runs a command on a terminal (util-linux's script). `until`: the output after which Ctrl-C ends it. */
async function onTerminal(
  folder: string,
  words: string,
  { until, no_color = "" }: { readonly until?: string; readonly no_color?: string } = {},
): Promise<string> {
  const env = { PATH: process.env["PATH"] ?? "", RUNTIME_DIRECTORY: folder, NO_COLOR: no_color, TERM: "xterm" };
  // The command replaces the shell, so that Ctrl-C reaches it.
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

describe("output on a terminal", { timeout: MANY_PROCESSES_MS }, () => {
  it("has colors in the status command unless NO_COLOR is set or the output is piped", async () => {
    const folder = await deliveringAgent();
    const colored = await onTerminal(folder, "status");
    expect(colored).toContain("\u001b[32mup\u001b[0m for 1 min");
    expect(colored).toContain("\u001b[31mDISABLED\u001b[0m");
    expect(await onTerminal(folder, "status", { no_color: "1" })).not.toContain("\u001b[3");
    const env = { RUNTIME_DIRECTORY: folder, NO_COLOR: "" };
    const piped = await runProgram(GATEWAY, ["status"], { env });
    expect(piped).toMatchObject({ code: 0, err: "" });
    expect(piped.out).not.toContain("\u001b");
  });

  it("is redrawn with a progress bar by backlog --watch until the user presses Ctrl-C", async () => {
    const said = await onTerminal(await deliveringAgent(), "backlog --watch", { until: "nothing is waiting" });
    expect(said).toContain("\u001b[H\u001b[J");
    expect(said).toContain("75 records wait for the service");
    expect(said).toContain(`[${"#".repeat(10)}${".".repeat(20)}] 33 %`);
    expect(said).toContain("Ctrl-C ends it.");
  });

  it("shows a progress bar for the record command, which is removed before the result is printed", async () => {
    const { configFile } = await plcSite();
    const folder = temporaryFolder();
    const words = `record --for 1.2s --config '${configFile}' --out '${join(folder, "booth.trace")}'`;
    const said = await onTerminal(folder, words);
    expect(said).toMatch(/\[#+\.*\] \d+ %/);
    expect(said).toMatch(/\r[^\n]*booth\.trace: \d+ answers, 0 requests without one/);
  });
});

describe("SIGTERM", () => {
  const TERMINAL = new URL("../../src/cli/terminal.ts", import.meta.url).href;
  /** Starts a program that waits for a signal, sends SIGTERM, and returns the exit code. */
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

  it("ends the process with exit code 0 if the command is still being loaded", async () => {
    expect(await waiting("")).toBe(0);
  });

  it("aborts a command that is already running, and the command then ends the process", async () => {
    expect(await waiting("io.begins();")).toBe(7);
  });
});

it("dispatch loads a command, reports its start, and then runs it", async () => {
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
  const io = quietIo({ begins: () => void done.push("begins") });
  expect(await dispatch(program, ["c"], io)).toBe(0);
  expect(done).toEqual(["loaded", "begins", "run"]);
});

it("dispatch shows a progress line once a command has printed nothing for two seconds, and removes the line at the first output", async () => {
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
