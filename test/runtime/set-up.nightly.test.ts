import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { describe, expect, it } from "vitest";
import type { SetUpStatus } from "../../src/domain/set-up.ts";
import { readSetUp } from "../../src/config/set-up.ts";
import { render } from "../../src/domain/messages/render.ts";
import { runningAgent } from "../api/box-http.ts";
import { eventually } from "../support/eventually.ts";
import { GATEWAY, runProgram } from "../support/processes.ts";
import { freshBox, PROVISION_KEY, SERIAL, type RealSite } from "../support/real-site.ts";
import { asked, boothAt, NOBODY } from "./tried.ts";

const firstAt = (port: number, more: object = {}): object => boothAt(port, { id: "booth-1", ...more });

const once = (site: RealSite, what: string, wanted: (status: SetUpStatus) => boolean): Promise<SetUpStatus> =>
  eventually(what, async () => {
    const status = await asked(site, "/setup").catch(() => undefined);
    return status !== undefined && wanted(status) ? status : undefined;
  });

describe("an unconfigured gateway", () => {
  it("reports its missing settings, and can be set up and bound without a change to its configuration file", async () => {
    const site = await freshBox();
    const before = readFileSync(site.configFile, "utf8");
    const agent = await runningAgent(site);
    expect((await site.status())?.lacks).toEqual(["service", "booth"]);
    for (const command of ["status", "doctor", "check"]) {
      const { code, out } = await runProgram(GATEWAY, [command, "--config", site.configFile]);
      expect(out).toMatch(/to be set up|set-up/);
      expect(code).toBe(0);
    }
    await asked(site, "/setup/service", { url: site.service.url, api_key: PROVISION_KEY });
    expect((await site.status())?.lacks).toEqual(["booth"]);
    const tried = await asked(site, "/setup/booth", firstAt(site.plc.port));
    expect(tried.trial?.booth).toBe("booth-1");
    const kept = await once(site, "it is kept", ({ trial }) => trial === null);
    expect(kept).toMatchObject({
      service: { url: site.service.url, said_by: "set_up", has_key: true },
      booths: [{ booth: "booth-1", profile: "click-booth", tz: "America/Denver", said_by: { modbus: "set_up" } }],
      taken_back: null,
    });
    const { code } = await runProgram(GATEWAY, ["provision", SERIAL, "--yes", "--config", site.configFile]);
    expect(code).toBe(0);
    const status = await eventually("records are acked", async () => {
      const now = await site.status();
      return (now?.booths[0]?.log.acked_seq ?? 0) > 0 ? now : undefined;
    });
    expect(status.booths[0]?.provisioning.state).toBe("active");
    expect(status.lacks).toEqual([]);
    expect(readFileSync(site.configFile, "utf8")).toBe(before);
    // One process all the time; the key stands in no file of the set-up.
    expect(agent.isRunning()).toBe(true);
    expect(readFileSync(join(site.dataDir, "setup.json"), "utf8")).not.toContain(PROVISION_KEY);
    await expect(asked(site, "/setup/service", { url: "https://other.example" })).rejects.toThrow("is bound");
  });

  it("exits with code 78 if its configuration file is invalid", async () => {
    const site = await freshBox();
    writeFileSync(site.configFile, `${readFileSync(site.configFile, "utf8")}boots: []\n`);
    const { code, err } = await runProgram(GATEWAY, ["run", "--config", site.configFile]);
    expect(code).toBe(78);
    expect(err).toContain('unknown key "boots"');
  });
});

describe("a settings change on trial", () => {
  it("is reverted with the reason if the PLC can't be read within 2 min, and polls continue with the old settings", async () => {
    const site = await freshBox(8);
    await runningAgent(site);
    await asked(site, "/setup/booth", firstAt(site.plc.port));
    await once(site, "the first is kept", ({ trial, booths }) => trial === null && booths.length === 1);
    const tried = await asked(site, "/setup/booth", { id: "booth-1", modbus: { host: "127.0.0.1", port: NOBODY } });
    expect(tried).toMatchObject({ booths: [{ address: `127.0.0.1:${NOBODY}`, profile: "click-booth" }] });
    const back = await once(site, "it is taken back", ({ trial, taken_back }) => trial === null && taken_back !== null);
    expect(back.taken_back).toMatchObject({ booth: "booth-1" });
    expect(back.taken_back?.reason).toContain(`127.0.0.1:${NOBODY} could not be read within 2 min`);
    expect(back.booths).toMatchObject([{ address: `127.0.0.1:${site.plc.port}`, tz: "America/Denver" }]);
    await eventually("the PLC is read again", async () =>
      (await site.status())?.booths[0]?.plc.kind === "up" ? true : undefined,
    );
  });

  it("is reverted at the next start if the agent is killed, even for the first booth", async () => {
    const site = await freshBox(1);
    const agent = await runningAgent(site);
    await asked(site, "/setup/booth", firstAt(NOBODY));
    expect(readSetUp(site.dataDir)).toMatchObject({ trial: { booth: "booth-1", before: null } });
    agent.signal("SIGKILL");
    await agent.ended;
    await runningAgent(site);
    const after = await asked(site, "/setup");
    expect(after).toMatchObject({ trial: null, booths: [], taken_back: { booth: "booth-1" } });
    expect((await site.status())?.lacks).toEqual(["service", "booth"]);
  });

  it("uses an OPC UA password that was entered separately and appears in no file and no output", async () => {
    const site = await freshBox(1, { opcua: true });
    const agent = await runningAgent(site);
    const endpoint = site.plc.opcua?.endpoint ?? "";
    const user = "gateway";
    const server = { endpoint, user, server_certificate_fingerprint: site.plc.opcua?.fingerprint() };
    const entry = { id: "booth-1", profile: "plcnext-booth", tz: "America/Denver", opcua: server };
    await asked(site, "/setup/login", { endpoint, user, password: "booth" });
    // A wrong one given later is tried first, and the right one opens all the same.
    await asked(site, "/setup/login", { endpoint, user, password: "wrong-password" });
    await asked(site, "/setup/booth", entry);
    const kept = await once(site, "it is kept", ({ trial, booths }) => trial === null && booths.length === 1);
    expect(kept.taken_back).toBeNull();
    const files = [
      join(site.dataDir, "setup.json"),
      ...["identity.db", "identity.db-wal"].map((name) => join(site.dataDir, name)),
    ];
    const texts = files.filter((file) => existsSync(file)).map((file) => readFileSync(file, "latin1"));
    expect(
      [...texts, agent.out(), agent.err(), JSON.stringify(kept)].filter((text) => text.includes("wrong-password")),
    ).toEqual([]);
    expect(texts.join("")).toContain(endpoint);
    // Another user's password isn't tried for this one.
    await asked(site, "/setup/booth", { id: "booth-1", opcua: { ...server, user: "nobody" } });
    const { trial } = await asked(site, "/setup");
    expect(trial).not.toBeNull();
    await eventually("the login is missed", async () => {
      const plc = (await site.status())?.booths[0]?.plc;
      return plc?.kind === "down" && render(plc.reason).includes("has no PLC password") ? true : undefined;
    });
    const back = await asked(site, "/setup/settle", { keep: false });
    expect(back.trial).toBeNull();
    await eventually("the PLC is read again", async () =>
      (await site.status())?.booths[0]?.plc.kind === "up" ? true : undefined,
    );
  });

  it("is kept if a user confirms it, even if the PLC doesn't answer, and until then blocks a second trial", async () => {
    const site = await freshBox(1);
    await runningAgent(site);
    await asked(site, "/setup/booth", firstAt(NOBODY));
    await expect(asked(site, "/setup/booth", firstAt(site.plc.port))).rejects.toThrow("A change is on trial");
    const kept = await asked(site, "/setup/settle", { keep: true });
    expect(kept).toMatchObject({ trial: null, booths: [{ address: `127.0.0.1:${NOBODY}` }] });
    // The right address after all.
    await asked(site, "/setup/booth", firstAt(site.plc.port));
    await once(site, "it answers", ({ trial }) => trial === null);
    expect((await asked(site, "/setup")).booths).toMatchObject([{ address: `127.0.0.1:${site.plc.port}` }]);
  });

  it("is rejected if a setting is invalid, is set in the operator's file, or is a file path", async () => {
    const site = await freshBox(1);
    const own = parse(readFileSync(site.configFile, "utf8")) as object;
    const booth = { id: "booth-7", profile: "click-booth", modbus: { host: "127.0.0.1", port: site.plc.port } };
    writeFileSync(site.configFile, stringify({ ...own, service: { url: site.service.url }, booths: [booth] }));
    await runningAgent(site);
    const refusals: [object, RegExp][] = [
      [
        { id: "booth-7", modbus: { host: "127.0.0.2" } },
        /gateway\.yaml sets modbus of booth-7, and it takes precedence/,
      ],
      [firstAt(NOBODY, { profile: "clik-booth" }), /profile "clik-booth" does not exist \(did you mean "click-booth"/],
      [firstAt(NOBODY, { tz: "Mars/Olympus" }), /unknown time zone "Mars\/Olympus"/],
      [firstAt(NOBODY, { id: "Booth 1" }), /A booth's name may only contain lowercase letters/],
      [{ id: "booth-2", profile: "click-booth" }, /a booth needs either modbus or opcua/],
      [
        { id: "booth-2", profile: "plcnext-booth", opcua: { endpoint: "opc.tcp://plc", password_file: "/etc/shadow" } },
        /POST \{id, profile/,
      ],
      [{ id: "booth-2", profile: "click-booth", modbus: { serial: { path: "/etc/shadow" } } }, /POST \{id, profile/],
    ];
    for (const [body, why] of refusals) await expect(asked(site, "/setup/booth", body)).rejects.toThrow(why);
    await expect(asked(site, "/setup/service", { url: "https://other.example" })).rejects.toThrow(
      "it takes precedence",
    );
    // What the file leaves open is the set-up's to say.
    await asked(site, "/setup/booth", { id: "booth-7", tz: "America/Denver" });
    const { booths } = await once(site, "it is kept", ({ trial }) => trial === null);
    expect(booths).toMatchObject([{ booth: "booth-7", said_by: { modbus: "file", profile: "file", tz: "set_up" } }]);
  });
});
