import { describe, expect, it } from "vitest";
import { MANY_PROCESSES_MS, startProgram, GATEWAY } from "../support/processes.ts";
import { plcSite } from "./plc-site.ts";

interface TagsJson {
  readonly booth: string;
  readonly tags: readonly { tag: string; raw: string; value: unknown; unit: string; quality: string }[];
}

describe("the tags command", { timeout: MANY_PROCESSES_MS }, () => {
  it("shows each tag's registers, value, unit, quality and age without writing to the PLC", async () => {
    const site = await plcSite();
    const { code, out, err } = await site.gateway("tags", "--config", site.configFile);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    const [head = "", columns = "", ...rows] = out.trimEnd().split("\n");
    expect(head).toBe(`booth-1: click-booth 1.0.0, PLC at 127.0.0.1:${site.plc.port}`);
    expect(columns).toMatch(/^tag +raw +value +unit +quality +age$/);
    expect(rows.map((row) => row.split(" ")[0])).toEqual(site.profile.tags.map(({ name }) => name));
    expect(out).toMatch(/^mode +000[0-9a-f] +\d+ .*good +\d+ ms$/m);
    expect(out).toMatch(/^air_temperature +[0-9a-f]{4} [0-9a-f]{4} +-?\d+(\.\d+)? +C +good/m);
    expect(site.plc.counts.writes).toBe(0);
  });

  it("gives the reason for a missing value in its JSON output", async () => {
    const site = await plcSite({ manners: { bad_ranges: [{ table: "holding", first: 0, last: 0, code: 2 }] } });
    const { code, out } = await site.gateway("tags", "--json", "--config", site.configFile);
    expect(code).toBe(0);
    const { tags } = JSON.parse(out) as TagsJson;
    expect(tags.find(({ tag }) => tag === "mode")).toMatchObject({ value: null, quality: "bad: exception_2", raw: "" });
    expect(tags.find(({ tag }) => tag === "cycle_count")).toMatchObject({ quality: "good", unit: "cycles" });
  });

  it("exits with 0 on SIGINT while it waits for a silent PLC", async () => {
    const site = await plcSite({ manners: { drop_answers: true } });
    const program = startProgram(GATEWAY, ["tags", "--watch", "--config", site.configFile]);
    await expect.poll(() => site.plc.counts.requests, { timeout: 60_000 }).toBeGreaterThan(0);
    program.signal("SIGINT");
    expect(await program.ended).toBe(0);
  });

  it("exits with 69 if the PLC is unreachable, and with 2 for an unknown booth", async () => {
    const site = await plcSite();
    await site.plc.offline();
    const away = await site.gateway("tags", "--config", site.configFile);
    expect(away).toMatchObject({ code: 69, out: "" });
    expect(away.err).toMatch(
      /ECONNREFUSED\); check that the PLC has power, that the network cable is connected, and that address and port/,
    );
    const unknown = await site.gateway("tags", "--booth", "booth-9", "--config", site.configFile);
    expect(unknown).toMatchObject({ code: 2, out: "" });
    expect(unknown.err).toContain('the configuration has no booth "booth-9"; booths: booth-1');
  });
});

it(
  "the command check --addresses shows every tag's address without connecting to the PLC",
  async () => {
    const site = await plcSite();
    const { code, out, err } = await site.gateway("check", "--addresses", "--config", site.configFile);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toMatch(/^tag +table +0-based +hex +from 1 +short +read by +takes$/m);
    for (const { name, point: at } of site.profile.tags)
      expect(out).toMatch(new RegExp(`^${name} +${at.table} +${at.address} `, "m"));
    expect(site.plc.counts.connections).toBe(0);
  },
  MANY_PROCESSES_MS,
);
