import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { clockFromNow, scaledClock } from "../../simulators/clock.ts";
import { MANY_PROCESSES_MS } from "../support/processes.ts";
import { plcSite } from "./plc-site.ts";

const START = Date.UTC(2026, 2, 3, 16);
/** Runs so slowly that a value stays the same from one reading to the next. */
const STANDING = scaledClock(clockFromNow(0.001));

async function shownBy(site: Awaited<ReturnType<typeof plcSite>>, name: string): Promise<number> {
  const tags = await site.gateway("tags", "--json", "--config", site.configFile);
  const { tags: rows } = JSON.parse(tags.out) as { tags: { tag: string; value: number }[] };
  return rows.find(({ tag }) => tag === name)?.value ?? 0;
}

describe("the detect command", { timeout: MANY_PROCESSES_MS }, () => {
  it("finds a tag at the address that its profile states, without writing to the PLC", async () => {
    const site = await plcSite({ start: START });
    const { code, out, err } = await site.gateway("detect", "air_temperature", "--config", site.configFile);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    const point = site.profile.tags.find(({ name }) => name === "air_temperature")?.point;
    const address = `holding:${point?.address ?? -1}`;
    expect(out).toMatch(/^address \(0-based\) +manual +type +registers +ABCD +CDAB +BADC +DCBA$/m);
    expect(out).toMatch(new RegExp(`^${address} +as stated +float32 .* \\*`, "m"));
    expect(out).toContain(`in the profile: { address: "${address}", type: float32, word_order: low_first }`);
    expect(site.plc.counts.writes).toBe(0);
  });

  it("finds the right address and word order from the displayed value if the stated address is off by one", async () => {
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

  it("reads with Modbus RTU over TCP if --rtu or the booth's configuration asks for it", async () => {
    const site = await plcSite({ start: START, rtuPort: 0, clock: STANDING });
    const port = String(site.plc.rtu?.port);
    const device = ["--profile", "click-booth", "--host", "127.0.0.1", "--port", port, "--rtu"];
    const named = await site.gateway("detect", "air_temperature", ...device);
    expect(named).toMatchObject({ code: 0, err: "" });
    const text = readFileSync(site.configFile, "utf8").replace(
      /^ {6}port: \d+/m,
      `      port: ${port}\n      framing: rtu`,
    );
    writeFileSync(site.configFile, text);
    const point = site.profile.tags.find(({ name }) => name === "air_temperature")?.point.address ?? 0;
    // Words in another order may make a plausible temperature too.
    const shown = await shownBy(site, "air_temperature");
    for (const subject of ["air_temperature", `holding:${point}`]) {
      const clues = ["--type", "float32", "--expect", String(shown)];
      const { code, out } = await site.gateway("detect", subject, "--config", site.configFile, ...clues);
      expect(code).toBe(0);
      expect(out).toContain(`in the profile: { address: "holding:${point}", type: float32, word_order: low_first }`);
    }
    expect(site.plc.rtu?.counts).toMatchObject({ writes: 0, malformed: 0 });
  });

  it("lists the nearest values, closest first and with their deviation, if no value is within 5 %", async () => {
    const site = await plcSite({ start: START, clock: STANDING });
    const point = site.profile.tags.find(({ name }) => name === "air_temperature")?.point.address ?? 0;
    const shown = await shownBy(site, "air_temperature");
    const expected = String(shown / 0.944);
    const at = ["--config", site.configFile, "--expect", expected];
    const text = await site.gateway("detect", "air_temperature", ...at);
    expect(text).toMatchObject({ code: 1, err: "" });
    // Neighboring registers may make a nearer number: the output has three.
    expect(text.out.slice(text.out.indexOf("No value within 5 %"))).toMatch(
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

  it("exits with 1 if no value matches, with 2 for wrong usage, and with 69 if the PLC doesn't answer", async () => {
    const site = await plcSite({ start: START });
    const device = ["--host", "127.0.0.1", "--port", String(site.plc.port)];
    const fails = async (words: string, code: number, reason: string): Promise<void> => {
      const { out, err, ...told } = await site.gateway("detect", ...words.split(" "), ...device);
      expect(told).toEqual({ code });
      expect([out, err].filter((text) => text !== "")).toEqual([expect.stringContaining(reason)]);
    };
    await fails("holding:60000", 1, "No register at this address can be read");
    await fails("400001 --expect 123456.75", 1, "No value within 5 % of 123456.75. Nearest values:");
    await fails("400001 --type float", 2, "the type float cannot be detected; supported types: float32, float64");
    await fails("humidity --profile click-booth", 2, "the profile click-booth has no tag of that name");
    await site.plc.offline();
    await fails("400001", 69, "(ECONNREFUSED); check that the PLC has power");
  });
});
