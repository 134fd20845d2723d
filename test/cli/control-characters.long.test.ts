import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { GATEWAY, runProgram } from "../support/processes.ts";
import { HOSTILE, SHOWN } from "./control-characters.ts";
import { EMPTY_STATUS, scriptedAgent } from "./scripted-agent.ts";

describe("text with control characters", () => {
  const link = { kind: "down", since: 0, reason: HOSTILE, advice: HOSTILE, attempt: 1, next_try_at: null };
  const status = {
    ...EMPTY_STATUS,
    gateway_id: HOSTILE,
    config_refused: HOSTILE,
    service: { ...EMPTY_STATUS.service, ...link },
    disabled: [{ booth: "b", serial: HOSTILE, since: 0, file: "f", line: 1, reason: HOSTILE, advice: HOSTILE }],
  };

  it.each(["status", "status --json"])("is escaped in the output of %s", async (command) => {
    const words = command.split(" ");
    const env = { RUNTIME_DIRECTORY: await scriptedAgent(() => status), NO_COLOR: "1" };
    const { code, out } = await runProgram(GATEWAY, words, { env });
    expect(code).toBe(0);
    expect(out).toContain(SHOWN.slice(0, 20));
    expect(out.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069\u2028]/u);
    if (words.length === 2) expect(JSON.parse(out)).toMatchObject({ gateway_id: HOSTILE });
  });

  it("is escaped in an error message", async () => {
    const { err } = await runProgram(GATEWAY, ["status", HOSTILE.replaceAll("\u0000", "")], {});
    expect(err).toContain("\\u001b[31mred");
    expect(err.replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
  });

  it("is escaped in the lines of the log", async () => {
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
