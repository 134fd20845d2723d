import { join } from "node:path";
import { askAgent } from "../../src/tools/agent-client.ts";
import { CERTIFICATE_MS } from "../../src/cli/upkeep.ts";
import type { PageState } from "../../src/api/port.ts";
import type { AgentStatus, BoothStatus } from "../../src/domain/status.ts";
import { eventually } from "../support/eventually.ts";
import type { Program } from "../support/processes.ts";
import type { RealSite } from "../support/real-site.ts";

/** Asks the agent's socket for a PIN, as `booth-gateway page` does. */
export async function openPage(
  site: Pick<RealSite, "runtimeDir">,
  how: { readonly lan?: boolean; readonly for_ms?: number } = {},
): Promise<PageState & { readonly pin: string }> {
  const socket = join(site.runtimeDir, "agent.sock");
  // The agent answers in this shape.
  return (await askAgent(socket, {
    method: "POST",
    path: "/page",
    body: how,
    patience_ms: CERTIFICATE_MS,
  })) as PageState & { readonly pin: string };
}

/** Starts the agent and waits until it listens. */
export async function runningAgent(site: RealSite): Promise<Program> {
  const agent = site.startAgent();
  await agent.line(/is running/);
  return agent;
}

/** Waits until the first booth is as wanted. */
export function boothOnce(
  site: Pick<RealSite, "status">,
  what: string,
  wanted: (booth: BoothStatus, status: AgentStatus) => boolean,
): Promise<BoothStatus> {
  return eventually(
    what,
    async () => {
      const status = await site.status();
      const [booth] = status?.booths ?? [];
      return booth !== undefined && status !== undefined && wanted(booth, status) ? booth : undefined;
    },
    60_000,
  );
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** undefined if the answer isn't JSON. */
  readonly body: unknown;
}

export async function ask(
  url: string,
  { method = "GET", key, body }: { readonly method?: string; readonly key?: string; readonly body?: unknown } = {},
): Promise<Reply> {
  const answer = await fetch(url, {
    method,
    headers: {
      ...(key === undefined ? {} : { authorization: key }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const text = await answer.text();
  const isJson = answer.headers.get("content-type")?.startsWith("application/json") === true;
  return { status: answer.status, headers: answer.headers, text, body: isJson ? JSON.parse(text) : undefined };
}

/** Opens a session and returns its token. */
export async function sessionAt(url: string, pin: string): Promise<string> {
  const { body, text } = await ask(`${url}/api/authenticate`, { method: "POST", body: { api_key: pin } });
  const token = (body as { readonly session_token?: string } | undefined)?.session_token;
  if (token === undefined) throw new Error(text);
  return token;
}
