import { execFileSync } from "node:child_process";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { bundleScrubber, CONFIG_SHAPE, journalLine, pick, STATUS_SHAPE, tarOf } from "../../src/tools/bundle.ts";
import { temporaryFolder } from "../support/temporary.ts";

describe("the filtering of data for a support bundle", () => {
  it("keeps only listed fields, at any depth", () => {
    const shape = { a: true, b: { c: true }, d: { e: true }, "*": { f: true } } as const;
    const value = {
      a: 1,
      b: { c: "x", secret: "s" },
      d: [{ e: 1, secret: "s" }, "s"],
      any: { f: null, g: "s" },
      secret: "s",
    };
    expect(pick(value, shape)).toEqual({ a: 1, b: { c: "x" }, d: [{ e: 1 }, undefined], any: { f: null } });
    expect(pick({ a: { deep: "s" } }, { a: true })).toEqual({});
  });

  it("keeps no field of status or configuration that could contain a secret or a customer's name", () => {
    const secret = { password: "s", key: "s", credential: "s", account: "s", facility: "s", user: "s", api_key: "s" };
    const status = {
      ...secret,
      service: secret,
      booths: [{ ...secret, provisioning: secret, plc: secret, log: secret }],
    };
    const config = { ...secret, service: secret, page: secret, booths: [{ ...secret, opcua: secret, modbus: secret }] };
    expect(JSON.stringify([pick(status, STATUS_SHAPE), pick(config, CONFIG_SHAPE)])).not.toContain('"s"');
  });

  it("removes known secrets in plain and JSON-escaped form, and removes PEM blocks", () => {
    const folder = temporaryFolder();
    const place = { line: 1, column: 1, path: "", message: "" };
    const marked = ['pass"word', "abc", "longer", "longer still"].map((secret, index) => {
      const value = join(folder, index.toString());
      writeFileSync(value, secret, { mode: 0o600 });
      return { path: [], holds: "password" as const, value, place };
    });
    const clean = bundleScrubber(marked, null);
    expect(clean('{"x":"pass\\"word"} pass"word abc longer still longer')).toBe(
      '{"x":"[left out]"} [left out] abc [left out] [left out]',
    );
    expect(clean("a -----BEGIN X KEY-----\nabc\n-----END X KEY----- b")).toBe("a [left out] b");
  });

  it("keeps only the allowed fields of the agent's journal lines, and omits lines of other programs", () => {
    const line = JSON.stringify({ time: "t", level: "info", msg: "m", event: "e", api_key: "s", extra: { key: "s" } });
    expect(journalLine(line)).toEqual([{ time: "t", level: "info", msg: "m", event: "e" }]);
    expect(["Started unit.", "", "null", "17"].flatMap(journalLine)).toEqual([]);
  });
});

describe("tarOf", () => {
  it("makes an archive that tar reads, for files of any length", () => {
    const folder = temporaryFolder();
    const files = [0, 1, 511, 512, 513, 20_000].map((size) => ({
      name: `f${size}.txt`,
      text: "é".repeat(size),
    }));
    writeFileSync(join(folder, "a.tar"), tarOf(files, 1_772_463_600));
    execFileSync("tar", ["-xf", "a.tar"], { cwd: folder });
    for (const { name, text } of files) expect(readFileSync(join(folder, name), "utf8")).toBe(text);
    expect(statSync(join(folder, "f1.txt")).mtimeMs).toBe(1_772_463_600_000);
    expect(() => tarOf([{ name: "a b", text: "" }], 0)).toThrow("not a valid file name");
  });
});
