import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { GATEWAY, runProgram } from "../support/processes.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { HOSTILE, SHOWN } from "./control-characters.ts";

describe("an agent whose service and PLC answer with control characters", () => {
  async function agentThatSays(body: unknown): Promise<string> {
    const folder = temporaryFolder();
    const server = createServer((_, answer) => answer.end(JSON.stringify(body)));
    server.listen(join(folder, "agent.sock"));
    await once(server, "listening");
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    return folder;
  }
  const link = { kind: "down", since: 0, reason: HOSTILE, advice: HOSTILE, attempt: 1, next_try_at: null };
  const status = {
    agent_version: "0",
    gateway_id: HOSTILE,
    at: 60_000,
    started_at: 0,
    boot: "boot",
    lacks: [],
    outputs: [],
    notices: [],
    shared: [],
    certificates: [],
    booths: [],
    needs_restart: [],
    clock: { synced: true, offset_ms: 0 },
    loss_window_ms: 10_000,
    config_refused: HOSTILE,
    service: { ...link, url: "https://service.example", broker_url: null },
    disabled: [{ booth: "b", serial: HOSTILE, since: 0, file: "f", line: 1, reason: HOSTILE, advice: HOSTILE }],
  };

  it.each(["status", "status --json"])("shows them escaped in the output of %s", async (command) => {
    const words = command.split(" ");
    const env = { RUNTIME_DIRECTORY: await agentThatSays(status), NO_COLOR: "1" };
    const { code, out } = await runProgram(GATEWAY, words, { env });
    expect(code).toBe(0);
    expect(out).toContain(SHOWN.slice(0, 20));
    expect(out.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069\u2028]/u);
    if (words.length === 2) expect(JSON.parse(out)).toMatchObject({ gateway_id: HOSTILE });
  });

  it("shows them escaped in an error", async () => {
    const { err } = await runProgram(GATEWAY, ["status", HOSTILE.replaceAll("\u0000", "")], {});
    expect(err).toContain("\\u001b[31mred");
    expect(err.replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
  });

  it("shows them escaped in lines of its log", async () => {
    const logger = new URL("../../src/runtime/logger.ts", import.meta.url).href;
    const code = `const { createLogger } = await import(${JSON.stringify(logger)}); createLogger("info").info({ reason: process.env.SAID }, process.env.SAID);`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", code], {
      env: { ...process.env, SAID: HOSTILE },
      stdio: ["ignore", "pipe", "inherit"],
    });
    let said = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (said += text));
    await once(child, "close");
    expect(said.trimEnd()).not.toMatch(/[\p{Cc}\u202e\u2066]/u);
    expect(JSON.parse(said)).toMatchObject({ msg: HOSTILE, reason: HOSTILE });
  });
});
