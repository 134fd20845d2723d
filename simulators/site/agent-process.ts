import { spawn, type ChildProcess } from "node:child_process";
import { createInterface } from "node:readline";
import { request } from "node:http";
import { fileURLToPath } from "node:url";

const AGENT = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
/** Time after which an agent that hasn't stopped is killed. The site promises to end within 3 s. */
const STOP_WITHIN_MS = 2_300;
const STATUS_TIMEOUT_MS = 1_000;

/** A line of the agent's log. */
export interface AgentLine {
  readonly level: string;
  readonly event: string;
  readonly text: string;
}

export interface AgentProcess {
  readonly pid: number;
  /** Resolves with the exit code or the signal when the process has ended. */
  readonly ended: Promise<string>;
  stop(): Promise<void>;
}

/** Starts the agent as a separate process with this process's Node. */
export function startAgentProcess(configFile: string, onLine: (line: AgentLine) => void): AgentProcess {
  const child = spawn(process.execPath, [AGENT, "run", "--config", configFile], {
    // The channel carries no messages. Its end tells the agent that the site has ended in any way.
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    env: withoutRuntimeDirectory(process.env),
  });
  const { stdout, stderr } = child;
  if (stdout === null || stderr === null) throw new Error("the agent's output isn't a pipe");
  createInterface({ input: stdout }).on("line", (text) => onLine(lineOf(text)));
  createInterface({ input: stderr }).on("line", (text) => onLine({ level: "error", event: "stderr", text }));
  const ended = new Promise<string>((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("exit", (code, signal) => resolve(signal ?? `exit code ${String(code)}`));
  });
  return { pid: child.pid ?? 0, ended, stop: () => stopChild(child, ended) };
}

/** The site decides where the agent's socket is, even when the site itself runs as a service. */
function withoutRuntimeDirectory(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => name !== "RUNTIME_DIRECTORY"));
}

async function stopChild(child: ChildProcess, ended: Promise<string>): Promise<void> {
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), STOP_WITHIN_MS);
  await ended;
  clearTimeout(timer);
}

function lineOf(text: string): AgentLine {
  try {
    const line = JSON.parse(text) as { level?: unknown; event?: unknown; msg?: unknown };
    return { level: asText(line.level), event: asText(line.event), text: asText(line.msg) };
  } catch {
    // Other output of the process is shown unchanged.
    return { level: "info", event: "", text };
  }
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The part of the agent's status that the status line shows. */
export interface SeenStatus {
  readonly at: number;
  readonly started_at: number;
  readonly service: { readonly kind: string };
  readonly booths: readonly {
    readonly booth: string;
    readonly plc: { readonly kind: string };
    readonly provisioning: { readonly state: string; readonly booth_id: string | null };
    readonly now: { readonly mode: string; readonly since: number | null; readonly cycles_today: number } | null;
    readonly log: { readonly newest_seq: number; readonly acked_seq: number };
  }[];
}

/** Asks the agent's socket for its status; null if it doesn't answer. */
export function askStatus(socketPath: string): Promise<SeenStatus | null> {
  return asked<SeenStatus>({ socketPath, path: "/status" });
}

/** The agent's page with a PIN. */
export interface SeenPage {
  readonly url: string | null;
  readonly pin: string;
}

/** Asks the agent for a PIN to its page, like its own command; null if it doesn't answer. */
export function askPage(socketPath: string): Promise<SeenPage | null> {
  return asked<SeenPage>({ socketPath, path: "/page", method: "POST" });
}

function asked<T>(call: { socketPath: string; path: string; method?: string }): Promise<T | null> {
  return new Promise((resolve) => {
    const ask = request({ ...call, timeout: STATUS_TIMEOUT_MS }, (answer) => {
      let text = "";
      answer.setEncoding("utf8");
      answer.on("data", (chunk: string) => (text += chunk));
      answer.on("end", () => resolve(answer.statusCode === 200 ? (JSON.parse(text) as T) : null));
    });
    ask.on("timeout", () => ask.destroy());
    ask.on("error", () => resolve(null));
    ask.end();
  });
}
