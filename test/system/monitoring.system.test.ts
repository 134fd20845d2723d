import { execFileSync, spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer as createHttp } from "node:http";
import { request } from "node:https";
import { type AddressInfo, createServer } from "node:net";
import { hostname } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { parse, stringify } from "yaml";
import { METRICS } from "../../src/contract/metrics.ts";
import { eventually } from "../support/eventually.ts";
import { realSite, SERIAL, type RealSite } from "../support/real-site.ts";
import { temporaryFolder } from "../support/temporary.ts";

/** Tests the monitoring of a gateway with Debian's Prometheus and its promtool. */

const RULES = fileURLToPath(new URL("../../config/monitoring/booth-gateway.rules.yaml", import.meta.url));
const DASHBOARD = new URL("../../config/monitoring/booth-gateway.dashboard.json", import.meta.url);
const TOKEN = "0123456789abcdef0123456789abcdef";

interface Rule {
  readonly alert: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

const rules = (parse(readFileSync(RULES, "utf8")) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  (group) => group.rules,
);

/**
 * For each alert: series that trigger it and series that don't (one value a minute), and the minutes until it fires.
 */
interface Tried {
  readonly labels: Readonly<Record<string, string>>;
  readonly fires: Readonly<Record<string, string>>;
  readonly quiet: Readonly<Record<string, string>>;
  readonly after_min: number;
  /** Labels that are missing in the alert. */
  readonly dropped?: readonly string[];
}
const BOX = { instance: "box:9464", job: "booth-gateway" };
const BOOTH = { ...BOX, booth: "booth-1" };
const always = (value: number): string => `${value}x200`;

function gauge(
  name: string,
  values: { bad: number; good: number },
  more: Partial<Tried> & Pick<Tried, "after_min">,
): Tried {
  const labels = more.labels ?? BOOTH;
  return { labels, fires: { [name]: always(values.bad) }, quiet: { [name]: always(values.good) }, ...more };
}

const down = { ...BOX, state: "down" };
const TRIED: Readonly<Record<string, Tried>> = {
  BoothGatewayDown: gauge("up", { bad: 0, good: 1 }, { labels: BOX, after_min: 6 }),
  BoothStoreFailing: gauge("booth_gateway_store_failing", { bad: 1, good: 0 }, { after_min: 2 }),
  BoothPlcAway: gauge(
    "booth_gateway_plc_link_state",
    { bad: 1, good: 0 },
    { labels: { ...BOOTH, state: "down" }, after_min: 16 },
  ),
  BoothServiceAway: gauge("booth_gateway_service_link_state", { bad: 1, good: 0 }, { labels: down, after_min: 61 }),
  BoothBacklogLarge: gauge("booth_gateway_backlog_records", { bad: 100_001, good: 100_000 }, { after_min: 61 }),
  BoothStoreFullSoon: gauge(
    "booth_gateway_store_time_to_full_seconds",
    { bad: 172_799, good: 172_800 },
    { after_min: 31 },
  ),
  BoothRecordsMissing: gauge("booth_gateway_missing_records", { bad: 1, good: 0 }, { after_min: 1 }),
  BoothRecordsRefused: {
    labels: BOOTH,
    after_min: 10,
    fires: { booth_gateway_refused_records: "0+1x200" },
    quiet: { booth_gateway_refused_records: always(7) },
  },
  BoothPollsFail: {
    labels: BOOTH,
    after_min: 40,
    dropped: ["job"],
    fires: {
      'booth_gateway_polls_total outcome="failed"': "0+12x200",
      'booth_gateway_polls_total outcome="answered"': "0+88x200",
    },
    quiet: {
      'booth_gateway_polls_total outcome="failed"': "0+9x200",
      'booth_gateway_polls_total outcome="answered"': "0+91x200",
    },
  },
  BoothPollsLate: {
    labels: BOOTH,
    after_min: 40,
    dropped: ["job"],
    fires: {
      'booth_gateway_poll_lateness_seconds_bucket le="0.1"': "0+90x200",
      'booth_gateway_poll_lateness_seconds_bucket le="1"': "0+95x200",
      'booth_gateway_poll_lateness_seconds_bucket le="+Inf"': "0+100x200",
    },
    quiet: {
      'booth_gateway_poll_lateness_seconds_bucket le="0.1"': "0+100x200",
      'booth_gateway_poll_lateness_seconds_bucket le="1"': "0+100x200",
      'booth_gateway_poll_lateness_seconds_bucket le="+Inf"': "0+100x200",
    },
  },
  BoothFilterOverused: gauge(
    "booth_gateway_filter_used_ratio",
    { bad: 1.01, good: 1 },
    { labels: { ...BOOTH, filter: "exhaust_filter" }, after_min: 11 },
  ),
  BoothDisabled: gauge("booth_gateway_disabled_booths", { bad: 1, good: 0 }, { labels: BOX, after_min: 6 }),
  BoothConfigRefused: gauge("booth_gateway_config_refused", { bad: 1, good: 0 }, { labels: BOX, after_min: 6 }),
  BoothClockUnsynced: gauge("booth_gateway_clock_synced", { bad: 0, good: 1 }, { labels: BOX, after_min: 61 }),
  // In promtool, the time of a test starts at 0.
  BoothCertificateEnds: gauge(
    "booth_gateway_certificate_end_timestamp_seconds",
    { bad: 13 * 86_400, good: 30 * 86_400 },
    { labels: { ...BOX, link: "service", server: "mqtts://broker" }, after_min: 61 },
  ),
  BoothDataBudget: gauge("booth_gateway_network_thrift_step", { bad: 1, good: 0 }, { labels: BOX, after_min: 1 }),
  BoothOutputDown: gauge(
    "booth_gateway_output_link_state",
    { bad: 1, good: 0 },
    { labels: { ...down, output: "plant" }, after_min: 31 },
  ),
  BoothOutputGivesUp: {
    labels: { ...BOX, output: "plant" },
    after_min: 10,
    fires: { booth_gateway_output_given_up_points_total: "0+5x200" },
    quiet: { booth_gateway_output_given_up_points_total: always(5) },
  },
  BoothDiffersFromService: gauge("booth_gateway_reconciliation_differences", { bad: 1, good: 0 }, { after_min: 121 }),
};

function seriesOf(key: string, labels: Readonly<Record<string, string>>): string {
  const [name = "", more] = key.split(" ");
  const own = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  return `${name}{${[...own, ...(more === undefined ? [] : [more])].join(",")}}`;
}

function testOf({ alert, labels: set, annotations }: Rule, tried: Tried, kind: "fires" | "quiet") {
  const { labels, dropped = [], after_min } = tried;
  const kept = Object.fromEntries(Object.entries(labels).filter(([label]) => !dropped.includes(label)));
  const filled = (text: string): string =>
    text.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_, label: string) => kept[label] ?? "");
  const exp = {
    exp_labels: { ...kept, ...set },
    exp_annotations: Object.fromEntries(Object.entries(annotations).map(([name, text]) => [name, filled(text)])),
  };
  return {
    interval: "1m",
    input_series: Object.entries(tried[kind]).map(([key, values]) => ({ series: seriesOf(key, labels), values })),
    alert_rule_test: [{ eval_time: `${after_min}m`, alertname: alert, exp_alerts: kind === "fires" ? [exp] : [] }],
  };
}

test("the Prometheus alert rules are valid, and each rule fires at its threshold but not below it", () => {
  const names = rules.map(({ alert }) => alert);
  expect(Object.keys(TRIED).sort()).toEqual([...names].sort());
  for (const { annotations } of rules) expect(Object.keys(annotations).sort()).toEqual(["description", "summary"]);
  execFileSync("promtool", ["check", "rules", RULES]);
  const tests = rules.flatMap((rule) => {
    const tried = TRIED[rule.alert];
    return tried === undefined ? [] : [testOf(rule, tried, "fires"), testOf(rule, tried, "quiet")];
  });
  const file = join(temporaryFolder(), "rules.test.yaml");
  writeFileSync(file, stringify({ rule_files: [RULES], evaluation_interval: "1m", tests }));
  expect(execFileSync("promtool", ["test", "rules", file], { encoding: "utf8" })).toContain("SUCCESS");
});

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise<void>((resolve) => void server.close(() => resolve()));
  return port;
}

/** Starts Debian's Prometheus, which scrapes the gateway over TLS with its token. */
async function prometheus(box: { readonly port: number; readonly ca_file: string; readonly token_file: string }) {
  const folder = temporaryFolder();
  const config = join(folder, "prometheus.yml");
  const port = await freePort();
  const job = {
    job_name: "booth-gateway",
    scheme: "https",
    metrics_path: "/metrics",
    authorization: { credentials_file: box.token_file },
    tls_config: { ca_file: box.ca_file, server_name: hostname() },
    static_configs: [{ targets: [`127.0.0.1:${box.port}`] }],
  };
  const global = { scrape_interval: "1s", evaluation_interval: "1s" };
  writeFileSync(config, stringify({ global, rule_files: [RULES], scrape_configs: [job] }));
  const args = [
    `--config.file=${config}`,
    `--storage.tsdb.path=${join(folder, "data")}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  const child = spawn("prometheus", args, { stdio: "ignore" });
  onTestFinished(() => void child.kill("SIGKILL"));
  const ask = async <T>(path: string): Promise<T> => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`);
    const { data, error } = (await answer.json()) as { readonly data?: T; readonly error?: string };
    if (data === undefined) throw new Error(`${path}: ${error ?? "no data"}`);
    return data;
  };
  return {
    ask,
    query: async (expr: string) =>
      (
        await ask<{ readonly result: readonly { readonly value: readonly [number, string] }[] }>(
          `query?query=${encodeURIComponent(expr)}`,
        )
      ).result,
  };
}

/** Starts a collector that accepts everything. */
async function collector(): Promise<string> {
  const server = createHttp((_, response) => response.writeHead(200, { "Content-Type": "application/json" }).end("{}"));
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function scrape(
  { port, ca }: { readonly port: number; readonly ca: string },
  token: string,
  path = "/metrics",
): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const headers = token === "" ? {} : { Authorization: `Bearer ${token}` };
    const call = request(
      { host: "127.0.0.1", port, path, headers, ca, servername: hostname(), agent: false },
      (answer) => {
        void answer
          .toArray()
          .then((chunks) =>
            resolve({ status: answer.statusCode ?? 0, text: Buffer.concat(chunks as Buffer[]).toString() }),
          );
      },
    );
    call.on("error", reject);
    call.end();
  });
}

async function scrapedSite(): Promise<{ readonly site: RealSite; readonly port: number; readonly token_file: string }> {
  const site = await realSite({ speed: 20, serial: SERIAL });
  const token_file = join(site.folder, "metrics-token");
  writeFileSync(token_file, `${TOKEN}\n`, { mode: 0o600 });
  const config = parse(readFileSync(site.configFile, "utf8")) as { readonly service: object };
  const outputs = [{ name: "collector", url: await collector(), otlp: { interval_ms: 10_000 } }];
  const more = { metrics: { port: 0, token_file }, outputs, service: { ...config.service, monthly_mb: 500 } };
  writeFileSync(site.configFile, stringify({ ...config, ...more }));
  site.startAgent();
  const port = await eventually("figures can be scraped", async () => (await site.status())?.page?.scraped?.port);
  await eventually(
    "records are acked",
    async () => ((await site.status())?.booths[0]?.log.acked_seq ?? 0) > 100 || undefined,
  );
  return { site, port, token_file };
}

test("Prometheus scrapes the gateway over TLS with the token, evaluates all alert rules, and has data for every dashboard query", async () => {
  const { site, port, token_file } = await scrapedSite();
  const ca_file = join(site.dataDir, "page", "own.pem");
  const ca = readFileSync(ca_file, "utf8");
  const { text } = await scrape({ port, ca }, TOKEN);
  expect(execFileSync("promtool", ["check", "metrics"], { input: text, encoding: "utf8" })).toBe("");
  const shown = [...text.matchAll(/^# TYPE booth_gateway_(\w+)/gm)].map(([, name]) => name ?? "");
  expect(Object.keys(METRICS)).toEqual(expect.arrayContaining(shown));
  process.stdout.write(`${shown.length} of ${Object.keys(METRICS).length} figures are shown\n`);

  const { ask, query } = await prometheus({ port, ca_file, token_file });
  const ups = 'count_over_time(up{job="booth-gateway"}[1m])';
  await eventually("it was scraped four times", async () => {
    const [counted] = await query(ups).catch(() => []);
    return Number(counted?.value[1] ?? 0) >= 4 ? true : undefined;
  });
  expect((await query('up{job="booth-gateway"}'))[0]?.value[1]).toBe("1");
  const dashboard = JSON.parse(readFileSync(DASHBOARD, "utf8")) as {
    readonly panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[];
  };
  const empty: string[] = [];
  const queries = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  for (const expr of queries) {
    const asked = expr.replaceAll("$__rate_interval", "1m").replaceAll("$instance", ".*").replaceAll("$booth", ".*");
    expect(asked).not.toContain("$");
    if ((await query(asked)).length === 0) empty.push(asked);
  }
  expect(empty).toEqual([]);
  process.stdout.write(`${queries.length} queries of the dashboard bring data\n`);
  const { groups } = await ask<{
    readonly groups: readonly { readonly rules: readonly { readonly name: string; readonly health: string }[] }[];
  }>("rules");
  const health = groups.flatMap((group) => group.rules.map((rule) => rule.health));
  expect(health).toHaveLength(rules.length);
  expect(new Set(health)).toEqual(new Set(["ok"]));

  // A wrong token gets nothing, the right token gets only metrics, and repeated wrong tokens are soon blocked.
  expect(await scrape({ port, ca }, TOKEN, "/status")).toMatchObject({ status: 404, text: "" });
  expect(await scrape({ port, ca }, "")).toMatchObject({ status: 401, text: "" });
  const guesses: number[] = [];
  for (let guess = 0; guess < 8; guess += 1) guesses.push((await scrape({ port, ca }, `${TOKEN}${guess}`)).status);
  expect(guesses).toEqual([401, 401, 401, 401, 401, 429, 429, 429]);
  expect((await scrape({ port, ca }, TOKEN)).status).toBe(429);
});
