import { spawn, type ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { eventually } from "./eventually.ts";
import { ofTest, type AtEnd } from "./temporary.ts";

/** The entry points of the programs. Tests start them as npm does, but with the Node that runs the tests. */
export const GATEWAY = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
export const SIMULATORS = fileURLToPath(new URL("../../simulators/main.ts", import.meta.url));

/** Timeout for a test that starts many processes: 20 s of work take minutes on a busy machine. */
export const MANY_PROCESSES_MS = 240_000;

export interface ProgramOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Options for Node itself, placed before the file. */
  readonly node?: readonly string[];
  /** File permissions apply to the program even if the tests run as root. */
  readonly mortal?: boolean;
  /** A command that starts the program and keeps the process id, such as unshare. */
  readonly within?: readonly string[];
  /** Registers when the program is killed if it still runs. Default: at the end of the test. */
  readonly atEnd?: AtEnd;
}

/** util-linux: root without the two capabilities that ignore file permissions. */
const MORTAL = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"];

/** A gateway or simulator program as a separate process. If it still runs, the test's end kills it. */
export interface Program {
  readonly pid: number;
  /** Lines of stdout and stderr so far. */
  readonly lines: readonly string[];
  readonly out: () => string;
  readonly err: () => string;
  /** Resolves with the exit code or the signal's name, once the process has ended and its output is read. */
  readonly ended: Promise<number | string>;
  isRunning(): boolean;
  /** Waits for a matching line. Earlier lines count. */
  line(pattern: RegExp, within_ms?: number): Promise<string>;
  signal(name: NodeJS.Signals): void;
}

export function startProgram(file: string, argv: readonly string[], options: ProgramOptions = {}): Program {
  const mortal = options.mortal === true && process.getuid?.() === 0 ? MORTAL : [];
  const wrapped = [...(options.within ?? []), ...mortal, process.execPath, ...(options.node ?? []), file, ...argv];
  const command = wrapped[0] ?? "";
  const words = wrapped.slice(1);
  const child = spawn(command, words, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...cleanEnvironment(), ...options.env },
  });
  const lines: string[] = [];
  const texts = { out: "", err: "" };
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => (texts.out += chunk));
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (texts.err += chunk));
  for (const input of [child.stdout, child.stderr]) createInterface({ input }).on("line", (line) => lines.push(line));
  const isRunning = (): boolean => child.exitCode === null && child.signalCode === null;
  (options.atEnd ?? ofTest)(() => killAndWait(child, isRunning));
  return {
    pid: child.pid ?? 0,
    lines,
    out: () => texts.out,
    err: () => texts.err,
    ended: endOf(child),
    isRunning,
    line: (pattern, within_ms) =>
      eventually(
        `a line like ${String(pattern)} from ${file}`,
        () => {
          const found = lines.find((line) => pattern.test(line));
          if (found !== undefined || isRunning()) return found;
          throw new Error(`it ended before a line like ${String(pattern)}:\n${lines.join("\n")}`);
        },
        within_ms,
      ),
    signal: (name) => void child.kill(name),
  };
}

/** Runs a program until it ends. */
export async function runProgram(
  file: string,
  argv: readonly string[],
  options: ProgramOptions = {},
): Promise<{ readonly code: number | string; readonly out: string; readonly err: string }> {
  const program = startProgram(file, argv, options);
  const code = await program.ended;
  return { code, out: program.out(), err: program.err() };
}

/** Checks whether the process runs. A zombie doesn't count as running. */
export function isAlive(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3) !== "Z";
  } catch (error) {
    if (error instanceof Error && "code" in error && ["ENOENT", "ESRCH"].includes(String(error.code))) return false;
    throw error;
  }
}

/** Removes the variables of the service manager and the test tools from the environment. */
function cleanEnvironment(): Record<string, string> {
  const { PATH = "", HOME = "", TMPDIR } = process.env;
  return { PATH, HOME, USER: "tester", NO_COLOR: "1", ...(TMPDIR === undefined ? {} : { TMPDIR }) };
}

function endOf(child: ChildProcess): Promise<number | string> {
  return new Promise((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("close", (code, signal) => resolve(signal ?? code ?? -1));
  });
}

async function killAndWait(child: ChildProcess, isRunning: () => boolean): Promise<void> {
  if (!isRunning()) return;
  const gone = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await gone;
}
