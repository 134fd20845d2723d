import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { CommandError, EXIT, type Io, type Values } from "../cli/command.ts";
import { DEFAULT_RUNTIME_DIR } from "../domain/places.ts";
import { DEFAULT_CONFIG } from "../cli/table/shared.ts";

/** An import of node:http would load its WebSocket, and with it undici: 14 MB and 40 ms of CPU. */
const { request } = process.getBuiltinModule("node:http");

const TIMEOUT_MS = 10_000;
const TIMED_OUT = "ETIMEDOUT";

export const SOCKET_NAME = "agent.sock";
/** What is root's alone goes there: in a folder of its own that nobody else can enter. */
export const ADMIN_SOCKET_NAME = "admin/admin.sock";
const USUAL_SOCKET = join(DEFAULT_RUNTIME_DIR, SOCKET_NAME);

/** Where the agent's socket is: $RUNTIME_DIRECTORY, else where the package puts it, else runtime_dir of the configuration. */
export async function socketPath(values: Values, io: Io): Promise<string> {
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

export interface AgentCall {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body?: unknown;
  /** How long it may say nothing; absent: 10 s. */
  readonly patience_ms?: number;
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

const ROOT_ALONE = 403;

interface Exchanged {
  readonly status: number;
  readonly text: string;
}

function answerOf({ status, text }: Exchanged): unknown {
  const body: unknown = JSON.parse(text);
  if (status < 300) return body;
  const said =
    typeof body === "object" && body !== null && "error" in body ? String(body.error) : `status ${status.toString()}`;
  throw new CommandError(said, status === ROOT_ALONE ? EXIT.rights : EXIT.failed);
}

/** Node's own codes for a socket that nobody listens at. */
const NOT_RUNNING = new Set(["ENOENT", "ECONNREFUSED", "ENOTSOCK"]);

function unavailable(socket: string, { patience_ms = TIMEOUT_MS }: AgentCall, error: unknown): CommandError {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code === "EACCES") {
    return new CommandError(
      `no right to open the agent's socket ${socket}: use sudo, or join the group that owns it ("usermod -aG booth-gateway USER", then log in anew)`,
      EXIT.rights,
      error,
    );
  }
  if (code === TIMED_OUT) {
    return new CommandError(
      `the agent is running but gave no answer within ${(patience_ms / 1000).toString()} s (${socket}): it is busy or stands still; try again, or look with "journalctl -u booth-gateway -n 50"`,
      EXIT.unavailable,
      error,
    );
  }
  if (!NOT_RUNNING.has(code)) {
    const reason = error instanceof Error ? error.message : String(error);
    return new CommandError(
      `the agent broke off its answer (${reason}, at ${socket}): try again, or look with "journalctl -u booth-gateway -n 50"`,
      EXIT.unavailable,
      error,
    );
  }
  return new CommandError(
    `the agent isn't running (no answer at ${socket}): start it with "systemctl start booth-gateway" or "booth-gateway run"`,
    EXIT.unavailable,
    error,
  );
}

function exchange(socketPath: string, call: AgentCall): Promise<Exchanged> {
  return new Promise((resolve, reject) => {
    const body = call.body === undefined ? undefined : JSON.stringify(call.body);
    const headers =
      body === undefined ? {} : { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) };
    const ask = request(
      { socketPath, path: call.path, method: call.method, headers, timeout: call.patience_ms ?? TIMEOUT_MS },
      (answer) => {
        let text = "";
        answer.setEncoding("utf8");
        answer.on("data", (chunk: string) => (text += chunk));
        answer.on("error", reject);
        answer.on("end", () => resolve({ status: answer.statusCode ?? 0, text }));
      },
    );
    ask.on("timeout", () => ask.destroy(Object.assign(new Error("no answer in time"), { code: TIMED_OUT })));
    ask.on("error", reject);
    ask.end(body);
  });
}
