import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { GATEWAY, MANY_PROCESSES_MS, runProgram } from "../support/processes.ts";
import { temporaryFolder } from "../support/temporary.ts";

const EXAMPLE = fileURLToPath(new URL("../../config/gateway.example.yaml", import.meta.url));

const gateway = (...argv: readonly string[]) => runProgram(GATEWAY, argv);

describe("booth-gateway check", { timeout: MANY_PROCESSES_MS }, () => {
  it("says that a good configuration is in order", async () => {
    const good = await gateway("check", "--config", EXAMPLE);
    expect(good).toMatchObject({ code: 0, err: "" });
    expect(good.out).toContain(`${EXAMPLE} is in order`);
    const json = await gateway("check", "--config", EXAMPLE, "--json");
    expect(JSON.parse(json.out)).toMatchObject({ ok: true, booths: [{ booth: "booth-1", serial: "ABCD-123-123" }] });
  });

  it("shows a mistake with file, line, column and a caret under it, with 78", async () => {
    const file = join(temporaryFolder(), "gateway.yaml");
    const booth = `booths:\n  - { id: booth-1, profile: click-booth, modbus: { host: plc, prot: 502 } }\n`;
    writeFileSync(file, `service: { url: "https://service.example" }\n${booth}`);
    const { code, out, err } = await gateway("check", "--config", file);
    expect({ code, out }).toEqual({ code: 78, out: "" });
    const [head = "", line = "", caret = ""] = err.split("\n");
    const column = booth.split("\n")[1]?.indexOf("prot:") ?? 0;
    expect(head).toBe(`${file}:3:${column + 1}: booths[0].modbus.prot: unknown key "prot" (did you mean "port"?)`);
    expect(line.indexOf("prot:")).toBe(caret.indexOf("^"));
  });

  it("says that there is no such file, with 78", async () => {
    const { code, err } = await gateway("check", "--config", "nowhere/gateway.yaml");
    expect(code).toBe(78);
    expect(err).toMatch(/^nowhere\/gateway\.yaml: [^\n]+\n$/);
  });
});
