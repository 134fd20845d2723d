import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { AgentStatus, BoothStatus } from "../domain/status.ts";
import type { Milliseconds } from "../domain/units.ts";
import { type Call, CommandError, EXIT, type Io, type Values } from "./command.ts";
import { DEFAULT_CONFIG, DEFAULT_RUNTIME_DIR } from "../domain/plc-address.ts";
import { errorMessage } from "../domain/error-message.ts";

/** An import of node:http would load its WebSocket, and with it undici: 14 MB and 40 ms of CPU. */
const { request } = process.getBuiltinModule("node:http");

const TIMEOUT_MS = 10_000;
const TIMED_OUT = "ETIMEDOUT";

export const SOCKET_NAME = "agent.sock";
/** What is root's alone goes there: in a folder of its own that nobody else can enter. */
export const ADMIN_SOCKET_NAME = "admin/admin.sock";
const USUAL_SOCKET = join(DEFAULT_RUNTIME_DIR, SOCKET_NAME);

/** Where the agent's socket is: $RUNTIME_DIRECTORY, else where the package puts it, else runtime_dir of the configuration. */
async function socketPath(values: Values, io: Io): Promise<string> {
  const given = io.environment["RUNTIME_DIRECTORY"];
  if (given !== undefined) return join(given, SOCKET_NAME);
  if (values["config"] === undefined && existsSync(USUAL_SOCKET)) return USUAL_SOCKET;
  // The YAML parser costs as much as all the rest of a command that asks the agent.
  const { runtimeDirOf } = await import("../config/yaml-source.ts");
  return join(runtimeDirOf(configPath(values)), SOCKET_NAME);
}

export function configPath(values: Values): string {
  return typeof values["config"] === "string" ? values["config"] : DEFAULT_CONFIG;
}

export type Agent = Awaited<ReturnType<typeof agentOf>>;

/**
 * The agent that the command's options mean. Rejects where no configuration says where it is. It answers its own shapes, which
 * nobody checks anew; everything rejects as askAgent does.
 */
export async function agentOf({ values, io }: Pick<Call, "values" | "io">) {
  const socket = await socketPath(values, io);
  const ask = async <T>(call: AgentCall): Promise<T> => (await askAgent(socket, call)) as T;
  const get = <T>(path: string, query: Readonly<Record<string, string>> | URLSearchParams = {}): Promise<T> => {
    const asked = new URLSearchParams(query).toString();
    return ask({ method: "GET", path: asked === "" ? path : `${path}?${asked}` });
  };
  const status = (): Promise<AgentStatus> => get("/status");
  return {
    get,
    post: <T>(path: string, body: unknown, patience_ms: Milliseconds = TIMEOUT_MS): Promise<T> =>
      ask({ method: "POST", path, body, patience_ms }),
    put: <T>(path: string, body: unknown): Promise<T> => ask({ method: "PUT", path, body }),
    /** Work that the agent tells of as it goes. Rejects with a CommandError where it comes to nothing. */
    converse: (
      path: string,
      { body, patience_ms }: Pick<AgentCall, "body" | "patience_ms">,
      progress: (text: string) => void,
    ) => conversation(socket, { method: "POST", path, body, patience_ms }, progress),
    status,
    /** How the booth named is, or the first one. Rejects with a CommandError where the agent serves no such booth. */
    async booth(named: string | undefined): Promise<BoothStatus> {
      const found = (await status()).booths.find(({ booth }) => named === undefined || booth === named);
      if (found === undefined) throw new CommandError("the agent serves no such booth");
      return found;
    },
    /** The booth that is meant: the one that --booth names, else the only one there is. Rejects with a CommandError where there are several. */
    async boothName(): Promise<string> {
      if (typeof values["booth"] === "string") return values["booth"];
      const names = (await status()).booths.map(({ booth }) => booth);
      const [only] = names;
      if (only !== undefined && names.length === 1) return only;
      throw new CommandError(`name the booth with --booth: ${names.join(", ")}`, EXIT.usage);
    },
    /** One of a booth's reports. */
    report: <T>(booth: string, operation: string, query: URLSearchParams): Promise<T> =>
      get(`/api/booths/${encodeURIComponent(booth)}/${operation}`, query),
  };
}

export interface AgentCall {
  readonly method: "GET" | "POST" | "PUT";
  readonly path: string;
  readonly body?: unknown;
  /** How long it may say nothing; absent: 10 s. */
  readonly patience_ms?: number | undefined;
}

/**
 * Asks the running agent; what it says is root's alone is asked again at the socket that only root can open. Throws a
 * CommandError where it isn't running, may not be asked, or says no.
 */
export async function askAgent(socket: string, call: AgentCall): Promise<unknown> {
  const first = await exchange(socket, call).catch((error: unknown) => {
    throw unavailable(socket, call, error);
  });
  if (first.status !== ROOT_ALONE) return answerOf(first);
  return answerOf(await exchange(join(dirname(socket), ADMIN_SOCKET_NAME), call).catch(() => first));
}

/** Events as `looking` of the API sends them. */
async function conversation(socket: string, call: AgentCall, progress: (text: string) => void): Promise<unknown> {
  let left = "";
  let failed = "";
  let done: unknown;
  const take = (event: string): void => {
    const [, name = "", data = "null"] = /^event: (\w+)\ndata: (.*)$/.exec(event) ?? [];
    const said = JSON.parse(data) as { readonly text?: string; readonly error?: string } | null;
    if (name === "progress") progress(said?.text ?? "");
    if (name === "failed") failed = said?.error ?? "it failed";
    if (name === "done") done = said;
  };
  const answer = await exchange(socket, call, (chunk) => {
    const events = (left + chunk).split("\n\n");
    left = events.pop() ?? "";
    events.forEach(take);
  }).catch((error: unknown) => {
    throw unavailable(socket, call, error);
  });
  if (answer.status >= 300) return answerOf(answer);
  if (done === undefined) throw new CommandError(failed === "" ? "the agent broke off" : failed);
  return done;
}

const ROOT_ALONE = 403;

function answerOf({ status, text }: Awaited<ReturnType<typeof exchange>>): unknown {
  const body: unknown = JSON.parse(text);
  if (status < 300) return body;
  const said = typeof body === "object" && body !== null && "error" in body ? String(body.error) : `status ${status}`;
  throw new CommandError(said, status === ROOT_ALONE ? EXIT.rights : EXIT.failed);
}

/** Node's own codes for a socket that nobody listens at. */
const NOT_RUNNING = new Set(["ENOENT", "ECONNREFUSED", "ENOTSOCK"]);

function unavailable(socket: string, { patience_ms = TIMEOUT_MS }: AgentCall, error: unknown): CommandError {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const failure = (text: string, exit: number = EXIT.unavailable) => new CommandError(text, exit, error);
  if (code === "EACCES") {
    return failure(
      `no right to open the agent's socket ${socket}: use sudo, or join the group that owns it ("usermod -aG booth-gateway USER", then log in anew)`,
      EXIT.rights,
    );
  }
  if (code === TIMED_OUT) {
    return failure(
      `the agent is running but gave no answer within ${patience_ms / 1000} s (${socket}): it is busy or stands still; try again, or look with "journalctl -u booth-gateway -n 50"`,
    );
  }
  if (NOT_RUNNING.has(code)) {
    return failure(
      `the agent isn't running (no answer at ${socket}): start it with "systemctl start booth-gateway" or "booth-gateway run"`,
    );
  }
  const reason = errorMessage(error);
  return failure(
    `the agent broke off its answer (${reason}, at ${socket}): try again, or look with "journalctl -u booth-gateway -n 50"`,
  );
}

/** `heard`: each piece of an answer that comes bit by bit. */
function exchange(
  socketPath: string,
  call: AgentCall,
  heard: (chunk: string) => void = () => undefined,
): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const body = call.body === undefined ? undefined : JSON.stringify(call.body);
    const headers =
      body === undefined ? {} : { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) };
    const ask = request(
      { socketPath, path: call.path, method: call.method, headers, timeout: call.patience_ms ?? TIMEOUT_MS },
      (answer) => {
        let text = "";
        answer.setEncoding("utf8");
        answer.on("data", (chunk: string) => {
          text += chunk;
          if (answer.statusCode === 200) heard(chunk);
        });
        answer.on("error", reject);
        answer.on("end", () => resolve({ status: answer.statusCode ?? 0, text }));
      },
    );
    ask.on("timeout", () => ask.destroy(Object.assign(new Error("no answer in time"), { code: TIMED_OUT })));
    ask.on("error", reject);
    ask.end(body);
  });
}
