import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { errorMessage } from "../domain/error-message.ts";
import { message } from "../domain/message.ts";
import { DEFAULT_CONFIG, DEFAULT_RUNTIME_DIR } from "../domain/plc-address.ts";
import type { AgentStatus, BoothStatus } from "../domain/status.ts";
import type { Milliseconds } from "../domain/units.ts";
import { type Call, CommandError, EXIT, type Values } from "./command.ts";

/** Node's HTTP client, loaded without `import`: an import would also load WebSocket and undici, which cost 14 MB and 40 ms of CPU. */
const { request } = process.getBuiltinModule("node:http");

const TIMEOUT_MS = 10_000;
const TIMED_OUT = "ETIMEDOUT";

export const SOCKET_NAME = "agent.sock";
/** The path of the socket for calls that only root may make, in a folder that only root can enter. */
export const ADMIN_SOCKET_NAME = "admin/admin.sock";
const USUAL_SOCKET = join(DEFAULT_RUNTIME_DIR, SOCKET_NAME);

/**
 * Returns the path of the agent's socket: in $RUNTIME_DIRECTORY, else where the package puts the socket, else in `runtime_dir` of the
 * configuration.
 */
async function socketPath({ values, io }: Pick<Call, "values" | "io">): Promise<string> {
  const given = io.environment["RUNTIME_DIRECTORY"];
  if (given !== undefined) return join(given, SOCKET_NAME);
  if (values["config"] === undefined && existsSync(USUAL_SOCKET)) return USUAL_SOCKET;
  // Loads the YAML parser only here, because it costs as much as the rest of such a command.
  const { runtimeDirOf } = await import("../config/yaml-source.ts");
  return join(runtimeDirOf(configPath(values)), SOCKET_NAME);
}

export function configPath(values: Values): string {
  return typeof values["config"] === "string" ? values["config"] : DEFAULT_CONFIG;
}

export type Agent = Awaited<ReturnType<typeof agentOf>>;

/**
 * Returns a client of the agent that the command's options mean. Rejects if no configuration says where the agent's socket is. The agent's
 * answers are not checked, because the agent is the same program. All methods reject as `askAgent` does.
 */
export async function agentOf(call: Pick<Call, "values" | "io">) {
  const socket = await socketPath(call);
  const ask = async <T>(asked: AgentCall): Promise<T> => (await askAgent(socket, asked)) as T;
  const get = <T>(path: string, query: Readonly<Record<string, string>> | URLSearchParams = {}): Promise<T> => {
    const text = new URLSearchParams(query).toString();
    return ask({ method: "GET", path: text === "" ? path : `${path}?${text}` });
  };
  const status = (): Promise<AgentStatus> => get("/status");
  return {
    get,
    post: <T>(path: string, body: unknown, patience_ms: Milliseconds = TIMEOUT_MS): Promise<T> =>
      ask({ method: "POST", path, body, patience_ms }),
    put: <T>(path: string, body: unknown): Promise<T> => ask({ method: "PUT", path, body }),
    /** Starts work that reports its progress. Rejects with a CommandError if the work fails. */
    converse: (
      path: string,
      { body, patience_ms }: Pick<AgentCall, "body" | "patience_ms">,
      progress: (text: string) => void,
    ) => conversation(socket, { method: "POST", path, body, patience_ms }, progress),
    status,
    /**
     * Returns the status of the named booth; if no name is given, the status of the first booth. Rejects with a CommandError for an unknown
     * booth.
     */
    async booth(named: string | undefined): Promise<BoothStatus> {
      const found = (await status()).booths.find(({ booth }) => named === undefined || booth === named);
      if (found === undefined) throw new CommandError("the agent reads no booth of that name");
      return found;
    },
    /** Returns the name of the booth that --booth names, else of the only booth. Rejects with a CommandError if there are several. */
    async boothName(): Promise<string> {
      const named = call.values["booth"];
      if (typeof named === "string") return named;
      const names = (await status()).booths.map(({ booth }) => booth);
      const [only] = names;
      if (only !== undefined && names.length === 1) return only;
      throw new CommandError(message("tool.which_booth", { names: names.join(", ") }), EXIT.usage);
    },
    /** Fetches a report of a booth. */
    report: <T>(booth: string, operation: string, query: URLSearchParams): Promise<T> =>
      get(`/api/booths/${encodeURIComponent(booth)}/${operation}`, query),
  };
}

export interface AgentCall {
  readonly method: "GET" | "POST" | "PUT";
  readonly path: string;
  readonly body?: unknown;
  /** The longest time to wait while the agent sends nothing; absent: 10 s. */
  readonly patience_ms?: number | undefined;
}

/**
 * Sends a call to the running agent. If only root may make the call, repeats it at root's socket. Rejects with a CommandError if the agent
 * isn't running, if the user may not make the call, or if the agent refuses.
 */
export async function askAgent(socket: string, call: AgentCall): Promise<unknown> {
  const first = await exchange(socket, call);
  if (first.status !== FORBIDDEN) return answerOf(first);
  return answerOf(await exchange(join(dirname(socket), ADMIN_SOCKET_NAME), call).catch(() => first));
}

/** Sends a call and reads the answer's `looking` stream: progress events, then the result. */
async function conversation(socket: string, call: AgentCall, progress: (text: string) => void): Promise<unknown> {
  let rest = "";
  let failed = "the agent closed the connection before its answer was complete";
  let done: unknown;
  const answer = await exchange(socket, call, (chunk) => {
    const events = (rest + chunk).split("\n\n");
    rest = events.pop() ?? "";
    for (const event of events) {
      const [, name = "", data = "null"] = /^event: (\w+)\ndata: (.*)$/.exec(event) ?? [];
      const said = JSON.parse(data) as { readonly text?: string; readonly error?: string } | null;
      if (name === "progress") progress(said?.text ?? "");
      if (name === "failed") failed = said?.error ?? "the action failed";
      if (name === "done") done = said;
    }
  });
  if (answer.status >= 300) return answerOf(answer);
  if (done === undefined) throw new CommandError(failed);
  return done;
}

const FORBIDDEN = 403;

interface Answer {
  readonly status: number;
  readonly text: string;
}

function answerOf({ status, text }: Answer): unknown {
  const body: unknown = JSON.parse(text);
  if (status < 300) return body;
  const said = typeof body === "object" && body !== null && "error" in body ? String(body.error) : `status ${status}`;
  throw new CommandError(said, status === FORBIDDEN ? EXIT.rights : EXIT.failed);
}

/** Node's error codes for a socket on which no process listens. */
const NOT_RUNNING = ["ENOENT", "ECONNREFUSED", "ENOTSOCK"];

function unavailable(socket: string, patience_ms: Milliseconds, error: unknown): CommandError {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const log = 'read its log with "journalctl -u booth-gateway -n 50"';
  let text = `the agent closed the connection before its answer was complete (${errorMessage(error)}, at ${socket}); try again, or ${log}`;
  if (code === "EACCES")
    text = `no right to open the agent's socket ${socket}; use sudo, or join the group that owns it ("usermod -aG booth-gateway USER", then log in again)`;
  if (code === TIMED_OUT)
    text = `the agent is running but did not answer within ${patience_ms / 1000} s (${socket}); it is busy or hangs; try again, or ${log}`;
  if (NOT_RUNNING.includes(code))
    text = `the agent is not running (no answer at ${socket}); start it with "systemctl start booth-gateway" or "booth-gateway run"`;
  return new CommandError(text, code === "EACCES" ? EXIT.rights : EXIT.unavailable, error);
}

/** Sends one request. Rejects with a CommandError if the answer is incomplete. `onChunk` gets each piece of an answer of status 200. */
async function exchange(
  socketPath: string,
  { method, path, body, patience_ms = TIMEOUT_MS }: AgentCall,
  onChunk?: (chunk: string) => void,
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const text = body === undefined ? undefined : JSON.stringify(body);
  const headers =
    text === undefined ? {} : { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(text) };
  const ask = request({ socketPath, path, method, headers, timeout: patience_ms }, (answer) => {
    let received = "";
    answer.setEncoding("utf8");
    answer.on("data", (chunk: string) => {
      received += chunk;
      if (answer.statusCode === 200) onChunk?.(chunk);
    });
    answer.on("error", reject);
    answer.on("end", () => resolve({ status: answer.statusCode ?? 0, text: received }));
  });
  ask.on("timeout", () => ask.destroy(Object.assign(new Error("no answer in time"), { code: TIMED_OUT })));
  ask.on("error", reject);
  ask.end(text);
  return promise.catch((error: unknown) => {
    throw unavailable(socketPath, patience_ms, error);
  });
}
