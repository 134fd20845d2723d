import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { eventually } from "../support/eventually.ts";
import { GATEWAY, MANY_PROCESSES_MS, runProgram } from "../support/processes.ts";
import { realSite, SERIAL, type RealSite } from "../support/real-site.ts";
import { temporaryFolder } from "../support/temporary.ts";

const PASSWORD = "plc-password-planted-1";
const PIN = "8317264950";
const KEY_LINE = "MIIEvPLANTEDplantedPLANTEDplanted";
const CUSTOMER = "Demo Body Shop";

/** Writes a secret into each file that a setting names. Returns all secrets, the site's first key included. */
function plantSecrets(site: RealSite): readonly string[] {
  const put = (name: string, text: string): string => {
    writeFileSync(join(site.folder, name), text, { mode: 0o600 });
    return join(site.folder, name);
  };
  const config = parse(readFileSync(site.configFile, "utf8")) as { booths: object[] };
  const pem = `-----BEGIN PRIVATE KEY-----\n${KEY_LINE}\n-----END PRIVATE KEY-----\n`;
  const opcua = { endpoint: "opc.tcp://127.0.0.1:9", user: "gateway", password_file: put("password", PASSWORD) };
  const booths = [...config.booths, { id: "booth-2", profile: "plcnext-booth", opcua }];
  const page = { port: 0, lan_port: 0, pin_file: put("pin", PIN) };
  const opcuaKey = { user_certificate_file: put("user.pem", "certificate"), user_key_file: put("user.key", pem) };
  const third = { id: "booth-3", profile: "plcnext-booth", opcua: { endpoint: "opc.tcp://127.0.0.1:9", ...opcuaKey } };
  writeFileSync(site.configFile, stringify({ ...config, page, booths: [...booths, third] }));
  return [readFileSync(join(site.folder, "api-key"), "utf8").trim(), PASSWORD, PIN, KEY_LINE];
}

function credentialOf(site: RealSite): string {
  const db = new Database(join(site.dataDir, "identity.db"), { readonly: true });
  try {
    return db.prepare<[], { credential: string }>("SELECT credential FROM gateway").get()?.credential ?? "";
  } finally {
    db.close();
  }
}

function unpack(archive: string): Readonly<Record<string, string>> {
  const folder = temporaryFolder();
  execFileSync("tar", ["-xzf", archive, "-C", folder]);
  return Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), "utf8")]));
}

describe("the support-bundle command", { timeout: MANY_PROCESSES_MS }, () => {
  it("writes an archive with every file, which contains none of the secrets planted by the test", async () => {
    const site = await realSite({ speed: 10, serial: SERIAL });
    const secrets = plantSecrets(site);
    const agent = site.startAgent();
    await eventually("the booth is active", async () =>
      (await site.status())?.booths[0]?.provisioning.state === "active" ? true : undefined,
    );
    expect(agent.lines.some((line) => line.includes(CUSTOMER))).toBe(true);
    const out = join(site.folder, "bundle.tar.gz");
    const made = await runProgram(GATEWAY, ["support-bundle", "--out", out, "--config", site.configFile]);
    expect(made).toMatchObject({ code: 0, err: "" });
    expect(made.out).toMatch(/^\S+bundle\.tar\.gz, \d+ kB, holds\n {2}doctor\.txt +every check/);
    expect(statSync(out).mode & 0o777).toBe(0o600);

    const files = unpack(out);
    expect(Object.keys(files)).toHaveLength(10);
    for (const name of Object.keys(files))
      expect(files["README.txt"]).toMatch(name === "README.txt" ? /^Support/ : name);
    expect(JSON.parse(files["status.json"] ?? "")).toMatchObject({
      booths: [{ serial: SERIAL }, {}, {}],
    });
    expect(JSON.parse(files["config.json"] ?? "")).toMatchObject({ page: { pin_file: join(site.folder, "pin") } });
    expect(files["readings.json"]).toContain('"tag": "mode"');
    expect(files["log.json"]).toContain("[left out]");
    const text = Object.values(files).join("\n");
    for (const secret of [...secrets, credentialOf(site), CUSTOMER]) {
      expect(secret.length).toBeGreaterThan(5);
      const forms = [
        secret,
        encodeURIComponent(secret),
        Buffer.from(secret).toString("base64"),
        Buffer.from(secret).toString("hex"),
      ];
      for (const form of forms) expect(text).not.toContain(form);
    }

    const again = await runProgram(GATEWAY, ["support-bundle", "--out", out, "--config", site.configFile]);
    expect(again).toMatchObject({ code: 2, out: "" });
    expect(again.err).toContain("there is such a file already");
    agent.signal("SIGTERM");
    expect(await agent.ended).toBe(0);
  });

  it("writes the archive and lists it as JSON even without an agent and with a faulty configuration", async () => {
    const folder = temporaryFolder();
    const file = join(folder, "gateway.yaml");
    const out = join(folder, "b.tar.gz");
    writeFileSync(file, "booths: [");
    const { code, out: said } = await runProgram(GATEWAY, ["support-bundle", "--json", "--out", out, "--config", file]);
    expect(code).toBe(0);
    expect(JSON.parse(said)).toMatchObject({ file: out, contents: expect.arrayContaining([]) as unknown[] });
    const files = unpack(out);
    expect(files["doctor.txt"]).toContain("BAD   configuration");
    expect(files["status.json"]).toBe("null\n");
  });
});
