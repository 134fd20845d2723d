import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { GATEWAY, MANY_PROCESSES_MS, runProgram } from "../support/processes.ts";
import { temporaryFolder } from "../support/temporary.ts";

const COMMANDS = ["run", "provision", "status", "check", "plan", "tags", "detect", "probe", "schemas"];
const EXAMPLE = fileURLToPath(new URL("../../config/gateway.example.yaml", import.meta.url));

const gateway = (...argv: readonly string[]) => runProgram(GATEWAY, argv);

describe("booth-gateway on the command line", { timeout: MANY_PROCESSES_MS }, () => {
  it("without a command, and with one that isn't there, says how it is used, with 2", async () => {
    const bare = await gateway();
    expect(bare).toMatchObject({ code: 2, err: "" });
    expect(bare.out).toContain("Usage: booth-gateway COMMAND [options]");
    for (const name of COMMANDS) expect(bare.out).toMatch(new RegExp(`^  ${name} `, "m"));
    expect(await gateway("fly")).toEqual({
      code: 2,
      out: "",
      err: 'booth-gateway: there is no command "fly"; booth-gateway --help lists them\n',
    });
  });

  it("helps with each command", async () => {
    expect(await gateway("--help")).toMatchObject({ code: 0, err: "" });
    const helps = await Promise.all(COMMANDS.map(async (name) => ({ name, ...(await gateway(name, "--help")) })));
    for (const { name, code, out, err } of helps) {
      expect({ name, code, err }).toEqual({ name, code: 0, err: "" });
      expect(out).toMatch(new RegExp(`^booth-gateway ${name}: [^\\n]+\\n\\nUsage: booth-gateway ${name}`));
      expect(out).toContain("--help");
    }
  });

  it("names an option and a word that it doesn't know, with 2", async () => {
    const option = await gateway("status", "--colour");
    expect(option).toMatchObject({ code: 2, out: "" });
    expect(option.err).toMatch(
      /^booth-gateway status: [^\n]*'--colour'[^\n]*; booth-gateway status --help says more\n$/,
    );
    const word = await gateway("check", "this");
    expect(word).toMatchObject({ code: 2, out: "" });
    expect(word.err).toContain('"this" is one word too many');
  });
});

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
    expect(head).toBe(
      `${file}:3:${(column + 1).toString()}: booths[0].modbus.prot: unknown key "prot" (did you mean "port"?)`,
    );
    expect(line.indexOf("prot:")).toBe(caret.indexOf("^"));
  });

  it("says that there is no such file, with 78", async () => {
    const { code, err } = await gateway("check", "--config", "nowhere/gateway.yaml");
    expect(code).toBe(78);
    expect(err).toMatch(/^nowhere\/gateway\.yaml: [^\n]+\n$/);
  });
});
