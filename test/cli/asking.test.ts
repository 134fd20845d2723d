import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { Readable } from "node:stream";
import { expect, it, onTestFinished } from "vitest";
import { requestOf } from "../../src/api/report.ts";
import { askAgent } from "../../src/tools/agent-client.ts";
import type { CommandError, Io } from "../../src/tools/command.ts";
import { historyCommand } from "../../src/cli/history.ts";
import { serveSocket } from "../../src/api/server.ts";
import { activeSite, MINUTE } from "../support/active-site.ts";
import { answerReport, openSource } from "../support/figures.ts";
import { temporaryFolder } from "../support/temporary.ts";

async function failureOf(act: Promise<unknown>): Promise<CommandError> {
  return act.then(
    () => Promise.reject(new Error("it was answered")),
    (error: unknown) => error as CommandError,
  );
}

/** Something that listens in the agent's place. */
async function instead(listening: (socket: Socket) => void): Promise<string> {
  const path = join(temporaryFolder(), "agent.sock");
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket.on("error", () => undefined));
    listening(socket);
  });
  await new Promise<void>((resolve) => server.listen(path, resolve));
  onTestFinished(() => {
    for (const socket of open) socket.destroy();
    server.close();
  });
  return path;
}

it("an agent that is too slow for our patience is called busy, not one that isn't running", async () => {
  const socket = await instead(() => undefined);
  const { message, exit } = await failureOf(askAgent(socket, { method: "GET", path: "/status", patience_ms: 50 }));
  expect(message).toMatch(/^the agent is running but gave no answer within 0.05 s/);
  expect(exit).toBe(69);
});

it("an answer that is broken off is called so", async () => {
  const socket = await instead((one) => one.once("data", () => one.destroy()));
  const { message, exit } = await failureOf(askAgent(socket, { method: "GET", path: "/status" }));
  expect(message).toMatch(/^the agent broke off its answer \(/);
  expect(exit).toBe(69);
});

it("a socket that nobody listens at is an agent that isn't running", async () => {
  const socket = join(temporaryFolder(), "agent.sock");
  const { message, exit } = await failureOf(askAgent(socket, { method: "GET", path: "/status" }));
  expect(message).toMatch(/^the agent isn't running/);
  expect(exit).toBe(69);
});

it("history of a tag that the booth hasn't got is an error that names it and the nearest; one that read nothing is none", async () => {
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
  const io: Io = {
    out: (text) => void said.push(text),
    err: () => undefined,
    isTerminal: false,
    colours: false,
    progress: () => undefined,
    ask: () => Promise.resolve(null),
    environment: { RUNTIME_DIRECTORY: dir },
    signal: new AbortController().signal,
  };
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
