import { describe, expect, it } from "vitest";
import type { GroupSummary } from "../../src/tools/rules/plan-summary.ts";
import { MANY_PROCESSES_MS } from "../support/processes.ts";
import { plcSite } from "./plc-site.ts";

interface PlanJson {
  readonly booths: readonly {
    readonly round_trip_ms: number;
    readonly groups: readonly (GroupSummary & { readonly measured_ms: number | null })[];
  }[];
}

describe("the plan command", { timeout: MANY_PROCESSES_MS }, () => {
  it("shows the requests of each poll group, the unreadable address ranges, and the assumed round trip of 5 ms", async () => {
    const site = await plcSite();
    const { code, out, err } = await site.gateway("plan", "--config", site.configFile);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toContain("5 ms per request (assumed; --round-trip or --measure for better)");
    expect(out).toMatch(/^fast, every 1 s: \d+ tags in \d+ requests, \d+ read, \d+ used, about \d+ ms$/m);
    expect(out).toMatch(/^table +address +count +used +ms$/m);
    expect(out).toContain("  holding 200-16383, 16448-28671, 28736-36863, 36928-65535");
    expect(site.plc.counts.connections).toBe(0);
  });

  it("plans exactly the requests that the driver sends", async () => {
    const site = await plcSite();
    const { code, out } = await site.gateway("plan", "--measure", "--json", "--config", site.configFile);
    expect(code).toBe(0);
    const groups = (JSON.parse(out) as PlanJson).booths[0]?.groups ?? [];
    const planned = groups.reduce((sum, { requests }) => sum + requests.length, 0);
    // Each group once to find holes, and five times for the median.
    expect(site.plc.counts.requests).toBe(6 * planned);
    for (const group of groups) expect(group.measured_ms).toBeGreaterThan(0);
    expect(site.plc.counts.writes).toBe(0);
  });

  it("uses the round-trip time given with --round-trip, and exits with 2 if the value is invalid", async () => {
    const site = await plcSite();
    const given = await site.gateway("plan", "--round-trip", "40", "--json", "--config", site.configFile);
    const [booth] = (JSON.parse(given.out) as PlanJson).booths;
    for (const { expected_ms, requests } of booth?.groups ?? []) expect(expected_ms).toBe(40 * requests.length);
    const wrong = await site.gateway("plan", "--round-trip", "soon", "--config", site.configFile);
    expect(wrong).toMatchObject({ code: 2, out: "" });
    expect(wrong.err).toContain("--round-trip soon is not a number from 0 to 60000");
  });
});
