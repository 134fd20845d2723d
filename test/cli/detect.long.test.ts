import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { clockFromNow, scaledClock } from "../../simulators/clock.ts";
import { MANY_PROCESSES_MS } from "../support/processes.ts";
import { plcSite } from "./plc-site.ts";

const START = Date.UTC(2026, 2, 3, 16);
/** Hardly moves: what was shown is still so when it is looked for. */
const STANDING = scaledClock(clockFromNow(0.001));

async function shownBy(site: Awaited<ReturnType<typeof plcSite>>, name: string): Promise<number> {
  const tags = await site.gateway("tags", "--json", "--config", site.configFile);
  const { tags: rows } = JSON.parse(tags.out) as { tags: { tag: string; value: number }[] };
  return rows.find(({ tag }) => tag === name)?.value ?? 0;
}

describe("booth-gateway detect", { timeout: MANY_PROCESSES_MS }, () => {
  it("finds a tag of the profile as the profile has it, and only reads", async () => {
    const site = await plcSite({ start: START });
    const { code, out, err } = await site.gateway("detect", "air_temperature", "--config", site.configFile);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    const point = site.profile.tags.find(({ name }) => name === "air_temperature")?.point;
    const address = `holding:${point?.address ?? -1}`;
    expect(out).toMatch(/^address \(0-based\) +the manual +type +registers +ABCD +CDAB +BADC +DCBA$/m);
    expect(out).toMatch(new RegExp(`^${address} +as stated +float32 .* \\*`, "m"));
    expect(out).toContain(`in the profile: { address: "${address}", type: float32, word_order: low_first }`);
    expect(site.plc.counts.writes).toBe(0);
  });

  it("finds the base and the order of an address that is one off, by what the display shows", async () => {
    const site = await plcSite({ start: START });
    const address = site.profile.tags.find(({ name }) => name === "uptime_s")?.point.address ?? 0;
    const shown = await shownBy(site, "uptime_s");
    const at = ["--host", "127.0.0.1", "--port", String(site.plc.port), "--expect", String(shown)];
    const found = await site.gateway("detect", `holding:${address + 1}`, ...at, "--type", "uint32", "--json");
    expect(found.code).toBe(0);
    expect(JSON.parse(found.out)).toMatchObject({
      finding: { point: { address: `holding:${address}`, type: "uint32", word_order: "low_first" } },
    });
  });

  it("reads RTU over TCP too, as the booth's configuration has it or by --rtu", async () => {
    const site = await plcSite({ start: START, rtuPort: 0, clock: STANDING });
    const port = String(site.plc.rtu?.port);
    const named = await site.gateway(
      "detect",
      "air_temperature",
      "--profile",
      "click-booth",
      ...["--host", "127.0.0.1"],
      "--port",
      port,
      "--rtu",
    );
    expect(named).toMatchObject({ code: 0, err: "" });
    const text = readFileSync(site.configFile, "utf8").replace(
      /^ {6}port: \d+/m,
      `      port: ${port}\n      framing: rtu`,
    );
    writeFileSync(site.configFile, text);
    const point = site.profile.tags.find(({ name }) => name === "air_temperature")?.point.address ?? 0;
    // Words in another order make a temperature too, now and then.
    const shown = await shownBy(site, "air_temperature");
    for (const subject of ["air_temperature", `holding:${point}`]) {
      const clues = ["--type", "float32", "--expect", String(shown)];
      const { code, out } = await site.gateway("detect", subject, "--config", site.configFile, ...clues);
      expect(code).toBe(0);
      expect(out).toContain(`in the profile: { address: "holding:${point}", type: float32, word_order: low_first }`);
    }
    expect(site.plc.rtu?.counts).toMatchObject({ writes: 0, malformed: 0 });
  });

  it("tells the nearest first, with its distance, where all answered and one is just beyond what counts as near", async () => {
    const site = await plcSite({ start: START, clock: STANDING });
    const point = site.profile.tags.find(({ name }) => name === "air_temperature")?.point.address ?? 0;
    const shown = await shownBy(site, "air_temperature");
    const expected = String(shown / 0.944);
    const at = ["--config", site.configFile, "--expect", expected];
    const told = await site.gateway("detect", "air_temperature", ...at);
    expect(told).toMatchObject({ code: 1, err: "" });
    // Registers beside it may make a number that is nearer, now and then: three are told.
    expect(told.out.slice(told.out.indexOf("Nothing within 5 %"))).toMatch(
      new RegExp(`^  ${String(shown).slice(0, 4)}.* \\(holding:${point}, float32, CDAB; 5\\.[1-9] %\\)$`, "m"),
    );
    const { out } = await site.gateway("detect", "air_temperature", ...at, "--json");
    const { finding, ranked } = JSON.parse(out) as Record<string, { best: null; nearest: { off: number }[] }> & {
      ranked: { off: number | null }[];
    };
    expect(finding?.best).toBeNull();
    const near = (finding?.nearest ?? []).map(({ off }) => off);
    expect(near.map((off) => off.toFixed(3))).toContain("0.056");
    expect(near).toEqual(near.toSorted((a, b) => a - b));
    // Floats within half a percent are alike.
    const distances = ranked.map(({ off }) => Math.floor((off ?? Infinity) / 0.005));
    expect(distances).toEqual(distances.toSorted((a, b) => a - b));
  });

  it("tells registers that answer apart from those that don't, and zeros from what is out of bounds", async () => {
    const site = await plcSite({ start: START });
    const device = ["--host", "127.0.0.1", "--port", String(site.plc.port)];
    const none = await site.gateway("detect", "holding:60000", ...device);
    expect(none).toMatchObject({ code: 1, err: "" });
    expect(none.out).toContain("No register there answers");
  });

  it("says that nothing fits, with 1, that nobody answers, with 69, and what is wrong with the call, with 2", async () => {
    const site = await plcSite({ start: START });
    const device = ["--host", "127.0.0.1", "--port", String(site.plc.port)];
    const nothing = await site.gateway("detect", "400001", ...device, "--expect", "123456.75");
    expect(nothing).toMatchObject({ code: 1, err: "" });
    expect(nothing.out).toContain("Nothing within 5 % of 123456.75. The nearest that was read:");
    const type = await site.gateway("detect", "400001", ...device, "--type", "float");
    expect(type).toMatchObject({ code: 2, out: "" });
    expect(type.err).toContain("float is no type to detect; there are float32, float64");
    const tag = await site.gateway("detect", "humidity", "--profile", "click-booth", ...device);
    expect(tag).toMatchObject({ code: 2, out: "" });
    expect(tag.err).toContain("the profile click-booth has no tag of that name");
    await site.plc.offline();
    const away = await site.gateway("detect", "400001", ...device);
    expect(away).toMatchObject({ code: 69, out: "" });
    expect(away.err).toContain("ECONNREFUSED; check the PLC's power");
  });
});
