import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseTrace } from "../../simulators/plc/replay/trace-file.ts";
import { GATEWAY, MANY_PROCESSES_MS, runProgram, SIMULATORS, startProgram } from "../support/processes.ts";
import { plcSite } from "./plc-site.ts";
import { temporaryFolder } from "../support/temporary.ts";

describe("the commands booth-gateway record and booth-sim replay", { timeout: MANY_PROCESSES_MS }, () => {
  it("record a trace without a write request, an address or a secret, and replay the trace as the same PLC", async () => {
    const site = await plcSite();
    const trace = join(temporaryFolder(), "booth.trace");
    const done = await site.gateway("record", "--config", site.configFile, "--for", "1.5s", "--out", trace);
    expect(done).toMatchObject({ code: 0, err: "" });
    expect(done.out).toMatch(/booth\.trace: \d+ answers, 0 requests without one, 0 failures of the connection\n$/);
    const short = ["record", "--config", site.configFile, "--for", "0.5s", "--json", "--out"];
    const told = await site.gateway(...short, join(temporaryFolder(), "short.trace"));
    expect(JSON.parse(told.out)).toMatchObject({ answers: expect.any(Number) as number, silences: 0, failures: 0 });
    expect(site.plc.counts.writes).toBe(0);
    const text = readFileSync(trace, "utf8");
    expect(text).not.toMatch(/127\.0\.0\.1|api_key|no-key/);
    expect(parseTrace(text, trace).identification).toContainEqual({ id: 1, text: "click-booth" });

    const replay = startProgram(SIMULATORS, ["replay", trace, "--modbus-port", "0"]);
    const [, port = ""] = /127\.0\.0\.1:(\d+)/.exec(await replay.line(/^replay: .* of click-booth, unit 1/)) ?? [];
    const config = readFileSync(site.configFile, "utf8").replace(/^ {6}port: \d+/m, `      port: ${port}`);
    writeFileSync(site.configFile, config);
    const tags = await runProgram(GATEWAY, ["tags", "--json", "--config", site.configFile]);
    const rows = (JSON.parse(tags.out) as { tags: { tag: string; value: unknown; quality: string }[] }).tags;
    expect(rows.find(({ tag }) => tag === "plc_serial")).toMatchObject({ value: "ABCD-123-123", quality: "good" });
    expect(rows.filter(({ quality }) => quality !== "good")).toEqual([]);
    replay.signal("SIGTERM");
    expect(await replay.ended).toBe(0);
  });

  it("fail with the reason for an invalid duration, a wrong file, an unreachable PLC or an invalid trace", async () => {
    const site = await plcSite();
    const folder = temporaryFolder();
    const record = (...more: readonly string[]) => site.gateway("record", "--config", site.configFile, ...more);
    expect((await record("--for", "90", "--out", "x")).err).toContain("--for 90 is not a duration such as 90s");
    expect((await record()).err).toContain("name the file with --out");
    const there = await record("--out", site.configFile);
    expect(there).toMatchObject({ code: 2, out: "" });
    expect(there.err).toContain("there is such a file already");
    await site.plc.offline();
    const away = await record("--for", "1s", "--out", join(folder, "away.trace"));
    expect(away.code).toBe(69);
    expect(away.err).toMatch(/ECONNREFUSED\); check that the PLC has power/);
    const none = await runProgram(SIMULATORS, ["replay", site.configFile]);
    expect(none).toMatchObject({ code: 2, out: "" });
    expect(none.err).toBe(`${site.configFile}:1: the line isn't JSON\n`);
  });
});
