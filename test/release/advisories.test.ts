import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isInRange } from "../../systemd/release/ranges.ts";

const PROGRAM = fileURLToPath(new URL("../../systemd/release/advisories.ts", import.meta.url));
const PLANTED = {
  id: "GHSA-aaaa-bbbb-cccc",
  aliases: ["CVE-2030-1"],
  modified: "2030-01-02T03:04:05Z",
  summary: "A planted weakness",
  affected: [
    {
      package: { ecosystem: "npm", name: "@x/inner" },
      ranges: [{ type: "SEMVER", events: [{ introduced: "0" }, { fixed: "1.2.4" }] }],
    },
  ],
};
const STATEMENT = {
  id: "CVE-2030-1",
  name: "@x/inner",
  version: "1.2.3",
  state: "not_affected",
  justification: "code_not_reachable",
  detail: "The agent never calls this function.",
};
const LOCKED = {
  "": { name: "root", version: "1.0.0" },
  "node_modules/outer": { version: "2.0.0" },
  "node_modules/outer/node_modules/@x/inner": { version: "1.2.3" },
  "node_modules/alias": { name: "true-name", version: "7.0.2" },
};

describe("the scan for advisories", () => {
  let root = "";
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "advisories-"));
    mkdirSync(join(root, "systemd/release"), { recursive: true });
    mkdirSync(join(root, "osv/npm"), { recursive: true });
    write("package-lock.json", { packages: LOCKED });
    write("systemd/release/vex.json", []);
  });
  afterEach(() => {
    rmSync(root, { recursive: true });
  });

  function write(file: string, content: unknown): void {
    writeFileSync(join(root, file), typeof content === "string" ? content : JSON.stringify(content));
  }

  function scan(...names: string[]): { readonly status: number | null; readonly text: string } {
    const paths = names.map((name) => join(root, name));
    const run = spawnSync(process.execPath, [PROGRAM, ...paths, "--root", root], { encoding: "utf8" });
    return { status: run.status, text: run.stdout + run.stderr };
  }

  it("fails for a nested package in the affected range, and names advisory and version", () => {
    write("osv/npm/one.json", PLANTED);
    const { status, text } = scan("osv");
    expect(text).toContain("GHSA-aaaa-bbbb-cccc @x/inner@1.2.3: no statement in vex.json. A planted weakness");
    expect(text).toContain("1 advisories, newest 2030-01-02T03:04:05Z, compared with 3 packages");
    expect(status).toBe(1);
  });

  it("passes if a statement names an alias of the advisory and the locked version", () => {
    write("one.json", [PLANTED]);
    write("systemd/release/vex.json", [STATEMENT]);
    expect(scan("one.json").status).toBe(0);
  });

  it.each([
    { ...STATEMENT, version: "1.2.2" },
    { ...STATEMENT, name: "outer" },
    { ...STATEMENT, id: "CVE-2030-2" },
    { ...STATEMENT, state: "in_triage" },
    { ...STATEMENT, state: "exploitable" },
  ])("fails with the statement %o, which does not settle the finding", (statement) => {
    write("one.json", PLANTED);
    write("systemd/release/vex.json", [statement]);
    expect(scan("one.json").status).toBe(1);
  });

  it("finds an aliased package by its true name, and a version that is only listed", () => {
    const affected = [{ package: { ecosystem: "npm", name: "true-name" }, versions: ["7.0.2"] }];
    write("one.json", { ...PLANTED, affected });
    expect(scan("one.json")).toMatchObject({ status: 1, text: expect.stringContaining("true-name@7.0.2") as string });
  });

  it("passes for a withdrawn advisory", () => {
    write("one.json", { ...PLANTED, withdrawn: "2030-01-03T00:00:00Z" });
    expect(scan("one.json").status).toBe(0);
  });

  it.each([
    ["is of another ecosystem", { ...PLANTED, affected: [{ package: { ecosystem: "PyPI", name: "outer" } }] }],
    ["is cut off", JSON.stringify(PLANTED).slice(0, -5)],
    ["is something else", { name: "booth" }],
  ])("ends with 2 if the export %s", (_what, content) => {
    write("one.json", content);
    expect(scan("one.json")).toMatchObject({ status: 2 });
  });

  it("ends with 2 if the export is an empty folder, does not exist, or is not named", () => {
    expect([scan("osv"), scan("lost"), scan()].map(({ status }) => status)).toEqual([2, 2, 2]);
  });
});

describe("a range of an advisory", () => {
  const events = [{ fixed: "2.3.0" }, { introduced: "2.0.0" }, { introduced: "0" }, { last_affected: "1.4.0" }];
  it.each([
    ["0.0.1", true],
    ["1.4.0", true],
    ["1.4.1", false],
    ["2.0.0-rc.1", false],
    ["2.0.0", true],
    ["2.3.0-rc.10", true],
    ["2.3.0", false],
    ["2.3.0+build", false],
    ["10.0.0", false],
  ])("has the version %s: %s", (version, isAffected) => {
    expect(isInRange(version, events)).toBe(isAffected);
  });

  it("orders candidates by number, and ends at its limit", () => {
    expect(isInRange("1.0.0-rc.10", [{ introduced: "1.0.0-rc.9" }])).toBe(true);
    expect(isInRange("1.0.0-rc.2", [{ introduced: "1.0.0-rc.9" }])).toBe(false);
    expect(isInRange("1.5.0", [{ introduced: "0" }, { limit: "1.5.0" }])).toBe(false);
  });
});
