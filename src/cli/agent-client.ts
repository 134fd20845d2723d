import { existsSync } from "node:fs";
import { join } from "node:path";
import { CommandError, EXIT, type Io, type Values } from "./command.ts";
import { DEFAULT_CONFIG } from "./table/shared.ts";

/** An import of node:http would load its WebSocket, and with it undici: 14 MB and 40 ms of CPU. */
const { request } = process.getBuiltinModule("node:http");

const TIMEOUT_MS = 10_000;

export const SOCKET_NAME = "agent.sock";
const USUAL_SOCKET = "/run/booth-gateway/agent.sock";

/** Where the agent's socket is: $RUNTIME_DIRECTORY, else where the package puts it, else runtime_dir of the configuration. */
export async function socketPath(values: Values, io: Io): Promise<string> {
  const given = io.environment["RUNTIME_DIRECTORY"];
  if (given !== undefined) return join(given, SOCKET_NAME);
  if (values["config"] === undefined && existsSync(USUAL_SOCKET)) return USUAL_SOCKET;
  // The YAML parser costs as much as all the rest of a command that asks the agent.
  const { runtimeDirOf } = await import("../config/runtime-dir.ts");
  return join(runtimeDirOf(configPath(values)), SOCKET_NAME);
}

export function configPath(values: Values): string {
  return typeof values["config"] === "string" ? values["config"] : DEFAULT_CONFIG;
}

/** Asks the running agent. Throws a CommandError where it isn't running, may not be asked, or says no. */
export async function askAgent(
  socket: string,
  call: { method: "GET" | "POST"; path: string; body?: unknown },
): Promise<unknown> {
  const { status, text } = await exchange(socket, call).catch((error: unknown) => {
    throw unavailable(socket, error);
  });
  const body: unknown = JSON.parse(text);
  if (status < 300) return body;
  const said =
    typeof body === "object" && body !== null && "error" in body ? String(body.error) : `status ${status.toString()}`;
  throw new CommandError(said);
}

function unavailable(socket: string, error: unknown): CommandError {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code === "EACCES") {
    return new CommandError(
      `no right to open the agent's socket ${socket}: use sudo, or join the group that owns it ("usermod -aG booth-gateway USER", then log in anew)`,
      EXIT.rights,
      error,
    );
  }
  return new CommandError(
    `the agent isn't running (no answer at ${socket}): start it with "systemctl start booth-gateway" or "booth-gateway run"`,
    EXIT.unavailable,
    error,
  );
}

function exchange(
  socketPath: string,
  call: { method: string; path: string; body?: unknown },
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const body = call.body === undefined ? undefined : JSON.stringify(call.body);
    const headers =
      body === undefined ? {} : { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) };
    const ask = request(
      { socketPath, path: call.path, method: call.method, headers, timeout: TIMEOUT_MS },
      (answer) => {
        let text = "";
        answer.setEncoding("utf8");
        answer.on("data", (chunk: string) => (text += chunk));
        answer.on("error", reject);
        answer.on("end", () => resolve({ status: answer.statusCode ?? 0, text }));
      },
    );
    ask.on("timeout", () => ask.destroy(new Error("no answer in time")));
    ask.on("error", reject);
    ask.end(body);
  });
}
