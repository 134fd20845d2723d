import { request } from "node:http";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { FilterEntry } from "../../src/domain/entry.ts";
import type { Explanation } from "../../src/reports/explain.ts";
import { eventually } from "../support/eventually.ts";
import { GATEWAY, runProgram } from "../support/processes.ts";
import { realSite, SERIAL, type RealSite } from "../support/real-site.ts";

/** Sends a GET over the agent's socket. */
function get(
  site: RealSite,
  path: string,
): Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; text: string }> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath: join(site.runtimeDir, "agent.sock"), path }, (answer) => {
      let text = "";
      answer.setEncoding("utf8");
      answer.on("data", (chunk: string) => (text += chunk));
      answer.on("error", reject);
      answer.on("end", () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }));
    });
    asked.on("error", reject);
    asked.end();
  });
}

/** Parses `/metrics` into families of samples. Fails if the text isn't in the format of Prometheus. */
function familiesIn(text: string): ReadonlyMap<string, ReadonlyMap<string, number>> {
  const families = new Map<string, Map<string, number>>();
  for (const block of text.split("# HELP ").slice(1)) {
    const [help = "", type = "", ...samples] = block.trimEnd().split("\n");
    const name = help.split(" ")[0] ?? "";
    expect(type).toMatch(new RegExp(`^# TYPE ${name} (gauge|counter|histogram)$`));
    families.set(name, new Map());
    for (const sample of samples) {
      const [, full = "", labels = "", value = ""] = /^([a-z_]+)(\{[^{}]*\})? (-?[\d.e+-]+)$/.exec(sample) ?? [];
      expect(full.startsWith(name), sample).toBe(true);
      families.get(name)?.set(`${full.slice(name.length)}${labels}`, Number(value));
    }
  }
  return families;
}

async function checkMetrics(site: RealSite): Promise<void> {
  const { headers, text } = await get(site, "/metrics");
  expect(headers["content-type"]).toBe("text/plain; version=0.0.4; charset=utf-8");
  const families = familiesIn(text);
  const of = (name: string, labels = '{booth="booth-1"}'): number =>
    families.get(`booth_gateway_${name}`)?.get(labels) ?? NaN;
  expect(of("polls_total", '{booth="booth-1",outcome="answered"}')).toBeGreaterThan(0);
  expect(of("plc_link_state", '{booth="booth-1",state="up"}')).toBe(1);
  expect(of("service_link_state", '{state="down"}')).toBe(0);
  expect(of("backlog_records")).toBe(of("log_newest_seq") - of("acked_seq"));
  expect(of("acked_seq")).toBeGreaterThan(0);
  for (const name of ["commits_total", "store_used_bytes"]) expect(of(name), name).toBeGreaterThan(0);
  expect(of("open_incidents")).toBeGreaterThanOrEqual(0);
  for (const name of ["written_bytes_total", "memory_resident_bytes", "memory_heap_bytes", "cpu_seconds_total"])
    expect(of(name, ""), name).toBeGreaterThan(0);
  const lateness = [...(families.get("booth_gateway_poll_lateness_seconds") ?? [])];
  const buckets = lateness.filter(([label]) => label.startsWith("_bucket")).map(([, polls]) => polls);
  expect(buckets).toEqual(buckets.toSorted((a, b) => a - b));
  expect(buckets.at(-1)).toBe(of("poll_lateness_seconds", '_count{booth="booth-1"}'));
  expect((await get(site, "/healthz")).status).toBe(200);
}

it("the agent serves reports and metrics on its socket, and the report commands print the same reports", async () => {
  const site = await realSite({ speed: 120, serial: SERIAL, scenario: "standard-cycle" });
  const agent = site.startAgent();
  await eventually("the agent answers", () => site.status());
  const run = async (...argv: string[]): Promise<string> => {
    const { code, out, err } = await runProgram(GATEWAY, [...argv, "--config", site.configFile]);
    expect({ code, err: code === 0 ? "" : err }).toEqual({ code: 0, err: "" });
    return out;
  };

  // On a busy machine a poll may be so late, at this speed, that spraying follows only after a gap.
  const durations = await eventually(
    "spraying is in the log",
    async () => {
      const said = JSON.parse(await run("durations", "--json")) as {
        modes: { mode: string; duration: number }[];
        coverage: Record<string, number>;
      };
      return said.modes.some(({ mode }) => mode === "Spray Mode") ? said : undefined;
    },
    120_000,
  );
  const total = durations.modes.reduce((sum, { duration }) => sum + duration, 0);
  expect(Object.values(durations.coverage).reduce((sum, part) => sum + part, 0)).toBeCloseTo(total, 2);
  expect(await run("durations")).toMatch(/Spray Mode.*\n[^]*observed/);
  expect(await run("history", "mode")).toMatch(/mode\s+3\n/);
  expect(await run("filters")).toMatch(/exhaust_filter[^]*: "in since" is when this gateway first looked/);

  const explained = JSON.parse(await run("explain", "runtime", "--json")) as Explanation;
  const spray = explained.parts.find(({ text }) => text.startsWith("spray"));
  expect(spray?.evidence[0]).toMatchObject({ tag: "mode", value: 3, register: "holding 0 (uint16) held 3" });
  expect(await run("explain", "frequency_by_mode")).toMatch(/rules\n.*definitions version/);

  const csv = await get(site, `/api/booths/booth-1/export_csv?tags=mode`);
  expect(csv.headers["content-type"]).toMatch(/text\/csv/);
  expect(csv.text).toMatch(/^time,tag,value,quality\n[^]*,mode,3,good\n/);
  const list = await get(site, `/api/booths?includes=cycle_count:utilization_times`);
  expect(JSON.parse(list.text)).toMatchObject({
    total: 1,
    data: [{ serial_number: SERIAL, cycles_count: expect.any(Number) as number }],
  });
  expect((await get(site, `/api/booths/${SERIAL}/utilization_timeline?interval=1`)).status).toBe(200);
  expect((await get(site, "/api/booths/other/runtime")).status).toBe(404);
  expect((await get(site, "/api/notifications")).status).toBe(501);
  expect((await get(site, "/api/booths/booth-1/history")).status).toBe(400);

  await checkMetrics(site);

  expect(await run("filters", "changed", "exhaust", "--by", "alex")).toMatch(
    /^exhaust filter, [\d-]+ [\d:]+ \S+: a new one is in; --undo/,
  );
  expect(await run("filters", "--json")).toContain('"filter_type": "exhaust_filter"');
  const undone = JSON.parse(await run("filters", "changed", "exhaust", "--undo", "--json")) as FilterEntry;
  expect(undone).toMatchObject({ filter: "exhaust_filter", by: "alex", outcome: "undone" });
  const twice = await runProgram(GATEWAY, ["filters", "changed", "exhaust", "--undo", "--config", site.configFile]);
  expect(twice).toMatchObject({ code: 1, out: "" });
  expect(twice.err).toContain("no change of the exhaust filter can be taken back");

  agent.signal("SIGTERM");
  expect(await agent.ended).toBe(0);
});
