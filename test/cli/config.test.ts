import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { GATEWAY, runProgram } from "../support/processes.ts";
import { say } from "./say.ts";
import { lock, temporaryFolder } from "../support/temporary.ts";

const EXAMPLE = readFileSync(fileURLToPath(new URL("../../config/gateway.example.yaml", import.meta.url)), "utf8");
const HOST = "booths.booth-1.modbus.host";

function example(): string {
  const file = join(temporaryFolder(), "gateway.yaml");
  writeFileSync(file, EXAMPLE);
  chmodSync(file, 0o640);
  return file;
}

const text = (file: string): string => readFileSync(file, "utf8");

describe("booth-gateway config show", () => {
  it("lists every setting with its value and its line in the file, or marks it as default", async () => {
    const file = example();
    const { code, out, err } = await say(["config", "show", "--config", file]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toMatch(new RegExp(`^${file}\nsetting +value +from\n`));
    expect(out).toMatch(/^log_level +info +default$/m);
    expect(out).toMatch(/^booths\[0\]\.modbus\.port +502 +default$/m);
    const line = EXAMPLE.split("\n").findIndex((one) => one.includes("host: 192.0.2.10")) + 1;
    expect(out).toMatch(new RegExp(`^booths\\[0\\]\\.modbus\\.host +192\\.0\\.2\\.10 +line ${line}$`, "m"));
    const json = await say(["config", "show", "service", "--json", "--config", file]);
    expect(JSON.parse(json.out)).toMatchObject({
      file,
      settings: [
        { path: "service.url", value: "https://monitoring.example.com" },
        { path: "service.api_key_credential", value: "booth-gateway-api-key" },
      ],
    });
  });

  it("suggests the closest name for an unknown setting", async () => {
    expect(await say(["config", "show", "log_levle", "--config", example()])).toEqual({
      code: 1,
      out: "",
      err: "booth-gateway config: unknown setting log_levle (did you mean log_level?)\n",
    });
  });
});

describe("booth-gateway config", () => {
  it("set changes one setting and keeps the previous file as .last-good, and rollback restores it", async () => {
    const file = example();
    const changed = await runProgram(GATEWAY, ["config", "set", HOST, "192.0.2.99", "--config", file]);
    expect(changed).toMatchObject({ code: 0, err: "" });
    expect(changed.out).toMatch(/is set; it comes in force with "systemctl restart booth-gateway"/);
    expect(text(file)).toBe(EXAMPLE.replace("host: 192.0.2.10", "host: 192.0.2.99"));
    expect(statSync(file).mode & 0o777).toBe(0o640);
    expect(text(`${file}.last-good`)).toBe(EXAMPLE);
    const same = await say(["config", "set", HOST, "192.0.2.99", "--json", "--config", file]);
    expect(JSON.parse(same.out)).toMatchObject({ changed: false });
    expect(text(`${file}.last-good`)).toBe(EXAMPLE);

    const back = await say(["config", "rollback", "--json", "--config", file]);
    expect(JSON.parse(back.out)).toEqual({ file, changed: true, replaced: `${file}.replaced` });
    expect(text(file)).toBe(EXAMPLE);
    expect(text(`${file}.replaced`)).toContain("192.0.2.99");
    const written = [file, `${file}.last-good`, `${file}.replaced`];
    expect(written.map((one) => statSync(one).mode & 0o777)).toEqual([0o640, 0o640, 0o640]);
    expect((await say(["config", "rollback", "--config", file])).out).toBe(`${file} is the last good one already\n`);
  });

  it.each([
    [
      ["log_levle", "info"],
      /gateway\.yaml:\d+:\d+: log_levle: unknown key "log_levle" \(did you mean "log_level"\?\)\n/,
    ],
    [["booths.booth-1.profile", "clik-booth"], /profile "clik-booth" does not exist \(did you mean "click-booth"/],
    [["commit_interval_ms", "fast"], /expected a number, found "fast"|expected a whole number, found "fast"/],
    [["service.url", "http://service.example"], /not encrypted/],
  ])("set rejects %j with exit code 78, and leaves the file unchanged", async (words, said) => {
    const file = example();
    const { code, out, err } = await say(["config", "set", ...words, "--config", file]);
    expect({ code, out }).toEqual({ code: 78, out: "" });
    expect(err).toMatch(said);
    expect(text(file)).toBe(EXAMPLE);
    expect(existsSync(`${file}.last-good`)).toBe(false);
  });

  it.each([
    [["set", "log_level"], "set needs a setting and a value"],
    [["set", "a b", "c"], '"a b" is not the path of a setting, such as service.url'],
    [["set", "booths.booth-7.tz", "UTC"], 'Booth "booth-7" does not exist; configured: booth-1'],
    [["show", "a", "b"], '"b" is one word too many'],
    [["rollback", "a"], "rollback takes no setting"],
    [["shwo"], 'ACTION can\'t be "shwo" (did you mean show?)'],
  ])("exits with 2 for the invalid arguments %j", async (words, said) => {
    const { code, err } = await say(["config", ...words, "--config", example()]);
    expect(code).toBe(2);
    expect(err).toContain(said);
  });

  it("set corrects a faulty file, and keeps the older valid file as .last-good", async () => {
    const file = example();
    await say(["config", "set", HOST, "192.0.2.99", "--config", file]);
    writeFileSync(file, EXAMPLE.replace("tz: America/Denver", "tz: Nowhere/Land"));
    expect((await say(["config", "set", "booths.booth-1.tz", "Europe/Paris", "--config", file])).code).toBe(0);
    expect(text(`${file}.last-good`)).toBe(EXAMPLE);
  });

  it("rollback fails if no earlier file exists, and set fails without write permission", async () => {
    const file = example();
    const none = await say(["config", "rollback", "--config", file]);
    expect(none).toMatchObject({ code: 1, out: "" });
    expect(none.err).toContain(`${file}.last-good does not exist`);
    lock(join(file, ".."));
    const { code, err } = await runProgram(GATEWAY, ["config", "set", HOST, "plc", "--config", file], { mortal: true });
    expect(code).toBe(77);
    expect(err).toMatch(/^booth-gateway config: you have no right to do that/);
    expect(text(file)).toBe(EXAMPLE);
  });
});
