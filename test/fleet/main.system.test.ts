// Needs Debian packages: haproxy, mosquitto, openssl, postgresql-15.
import { chmodSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { MANY_PROCESSES_MS, runProgram, startProgram } from "../support/processes.ts";
import { temporaryFolder } from "../support/temporary.ts";

const FLEET = fileURLToPath(new URL("main.ts", import.meta.url));

describe("npm run fleet", () => {
  it.each([
    { argv: ["--minutes", "soon"], error: /^--minutes must be a number/ },
    { argv: ["--gateway", "5"], error: /^Unknown option '--gateway'/ },
  ])("ends with 2 and one line about the wrong argument $argv.0", async ({ argv, error }) => {
    const { code, out, err } = await runProgram(FLEET, argv);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toMatch(error);
    expect(err.trim().split("\n")).toHaveLength(1);
  });

  it(
    "removes its folder and ends its processes at SIGTERM",
    async () => {
      const outer = temporaryFolder();
      const folder = join(outer, "tmp");
      mkdirSync(folder);
      // PostgreSQL runs as its own user, who needs access to the folder.
      for (const path of [outer, folder]) chmodSync(path, 0o711);
      const fleet = startProgram(FLEET, ["--gateways", "3", "--minutes", "5"], { env: { TMPDIR: folder } });
      await fleet.line(/3 of 3 connected/, MANY_PROCESSES_MS);
      expect(readdirSync(folder).filter((name) => name.startsWith("booth-fleet-"))).toHaveLength(1);
      fleet.signal("SIGTERM");
      expect(await fleet.ended).toBe(1);
      expect(fleet.err()).toContain("stopped by a signal");
      expect(readdirSync(folder).filter((name) => name.startsWith("booth-fleet-"))).toEqual([]);
    },
    MANY_PROCESSES_MS,
  );
});
