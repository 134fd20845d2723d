import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { Readable } from "node:stream";
import { expect, it, onTestFinished } from "vitest";
import { render } from "../../src/domain/messages/render.ts";
import { requestOf } from "../../src/api/report.ts";
import { askAgent } from "../../src/tools/agent-client.ts";
import type { CommandError } from "../../src/tools/command.ts";
import { historyCommand } from "../../src/cli/history.ts";
import { serveSocket } from "../../src/api/server.ts";
import { activeSite, MINUTE } from "../support/active-site.ts";
import { answerReport, openSource } from "../support/figures.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { quietIo } from "./say.ts";

async function failureOf(asked: Promise<unknown>): Promise<CommandError> {
  return asked.then(
    () => Promise.reject(new Error("it was answered")),
    (error: unknown) => error as CommandError,
  );
}

/** Starts a server at a socket like the agent's. Returns the socket's path. */
async function fakeAgent(onConnection: (socket: Socket) => void): Promise<string> {
  const path = join(temporaryFolder(), "agent.sock");
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket.on("error", () => undefined));
    onConnection(socket);
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return path;
}

it.each<[string, () => Promise<string>, RegExp]>([
  ["does not answer in time", () => fakeAgent(() => undefined), /^the agent is running but did not answer within 1 s/],
  [
    "closes the connection before it answers",
    () => fakeAgent((socket) => socket.once("data", () => socket.destroy())),
    /^the agent closed the connection before its answer was complete \(/,
  ],
  [
    "does not listen on its socket",
    () => Promise.resolve(join(temporaryFolder(), "agent.sock")),
    /^the agent is not running/,
  ],
])("askAgent rejects with the reason and exit code 69 if the agent %s", async (_, start, reason) => {
  const asked = askAgent(await start(), { method: "GET", path: "/status", patience_ms: 1_000 });
  expect(await failureOf(asked)).toMatchObject({ message: expect.stringMatching(reason) as string, exit: 69 });
});

it("the history command suggests the closest name for an unknown tag, and reports 0 readings for a period without readings", async () => {
  const { site, agent, folder } = await activeSite({ for_ms: 5 * MINUTE });
  const dir = temporaryFolder();
  const reader = openSource(folder, site.clock.wall());
  onTestFinished(() => reader.close());
  const listener = await serveSocket(join(dir, "agent.sock"), {
    control: agent,
    reports: (asked) => {
      const { status, headers, body } = answerReport(requestOf(asked, agent.status()), reader.source.reader);
      const parts = (typeof body === "string" ? [body] : [...body]).map((part) => Buffer.from(part));
      return Promise.resolve({ status, headers, body: Readable.from(parts) as AsyncIterable<Buffer> });
    },
  });
  onTestFinished(() => listener.close());
  const said: string[] = [];
  const io = quietIo({ out: (text) => void said.push(render(text)), environment: { RUNTIME_DIRECTORY: dir } });
  const ask = (tags: string, from = "2026-03-02T14:50:00Z"): Promise<number> =>
    historyCommand({ values: { from }, operands: [tags], io });
  const { message, exit } = await failureOf(ask("mode,mod,nonsense-of-nobody"));
  expect(message).toMatch(
    /^booth-1 has no tag "mod" \(did you mean "mode"\?\), "nonsense-of-nobody"; its tags: .*mode/,
  );
  expect([exit, said]).toEqual([2, []]);
  expect(await ask("mode")).toBe(0);
  expect(await ask("mode", new Date(site.clock.wall() - 1_000).toISOString())).toBe(0);
  expect(said.at(-1)).toContain("0 readings");
});
