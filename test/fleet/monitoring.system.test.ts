// Needs a Debian package: prometheus.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { temporaryFolder } from "../support/temporary.ts";

const RULES = fileURLToPath(new URL("../../config/monitoring/booth-service.rules.yaml", import.meta.url));
const DASHBOARD = new URL("../../config/monitoring/booth-service.dashboard.json", import.meta.url);
const SOURCES = ["roles.ts", "fleet/watch.ts"].map(
  (name) => new URL(`../../simulators/service/${name}`, import.meta.url),
);

interface Rule {
  readonly alert: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** For each alert: series that trigger it and series that don't (one value a minute), and the minutes until it fires. */
interface Tried {
  readonly fires: Readonly<Record<string, string>>;
  readonly quiet: Readonly<Record<string, string>>;
  readonly after_min: number;
  /** The alert sums up over all processes. */
  readonly isSum?: boolean;
}

const PROCESS = { instance: "machine:9101", job: "booth-service" };
const gauge = (name: string, [bad, good]: readonly [number, number], more: Omit<Tried, "fires" | "quiet">): Tried => ({
  fires: { [name]: `${bad}x200` },
  quiet: { [name]: `${good}x200` },
  ...more,
});

const TRIED: Readonly<Record<string, Tried>> = {
  BoothServicePartDown: gauge("up", [0, 1], { after_min: 3 }),
  BoothServiceStoreAway: gauge("booth_service_store_up", [0, 1], { after_min: 2 }),
  BoothServiceBrokerAway: gauge("booth_service_broker_joined", [0, 1], { after_min: 2 }),
  BoothServiceIngestLags: gauge("booth_service_uplinks_waiting", [201, 200], { after_min: 3 }),
  BoothServiceUplinksFail: {
    fires: { booth_service_uplinks_failed_total: "0+1x200" },
    quiet: { booth_service_uplinks_failed_total: "7x200" },
    after_min: 30,
  },
  BoothServiceFactsOld: gauge("booth_service_facts_behind_seconds", [1_801, 1_800], { after_min: 11, isSum: true }),
  BoothServiceGatewaysAway: {
    fires: { booth_service_gateways: "100x200", booth_service_gateways_online: "89x200" },
    quiet: { booth_service_gateways: "100x200", booth_service_gateways_online: "90x200" },
    after_min: 11,
    isSum: true,
  },
  BoothServiceLacksRecords: gauge("booth_service_lacking_records", [1, 0], { after_min: 16, isSum: true }),
  BoothServiceLostRecords: {
    fires: { booth_service_lost_records: "0x60 5x100" },
    quiet: { booth_service_lost_records: "5x200" },
    after_min: 70,
    isSum: true,
  },
  BoothServiceNoEvaluator: gauge("booth_service_evaluates", [0, 1], { after_min: 3, isSum: true }),
  BoothServiceStoreGrows: {
    fires: { booth_service_store_bytes: "1000000000+1000000x200" },
    quiet: { booth_service_store_bytes: "1000000000+1x200" },
    after_min: 130,
  },
};

it("the service's Prometheus alert rules are valid, and each fires at its threshold but not below it", () => {
  const { groups } = parse(readFileSync(RULES, "utf8")) as { readonly groups: readonly { readonly rules: Rule[] }[] };
  const rules = groups.flatMap((group) => group.rules);
  expect(Object.keys(TRIED).sort()).toEqual(rules.map(({ alert }) => alert).sort());
  execFileSync("promtool", ["check", "rules", RULES]);
  const tests = rules.flatMap(({ alert, labels, annotations }) => {
    const tried = TRIED[alert];
    if (tried === undefined) return [];
    const kept = tried.isSum === true ? {} : PROCESS;
    const filled = Object.fromEntries(
      Object.entries(annotations).map(([name, text]) => [
        name,
        text.replaceAll("{{ $labels.instance }}", PROCESS.instance),
      ]),
    );
    return (["fires", "quiet"] as const).map((kind) => ({
      interval: "1m",
      input_series: Object.entries(tried[kind]).map(([name, values]) => ({
        series: `${name}{instance="${PROCESS.instance}",job="${PROCESS.job}"}`,
        values,
      })),
      alert_rule_test: [
        {
          eval_time: `${tried.after_min}m`,
          alertname: alert,
          exp_alerts: kind === "fires" ? [{ exp_labels: { ...kept, ...labels }, exp_annotations: filled }] : [],
        },
      ],
    }));
  });
  const file = join(temporaryFolder(), "rules.test.yaml");
  writeFileSync(file, stringify({ rule_files: [RULES], evaluation_interval: "1m", tests }));
  expect(execFileSync("promtool", ["test", "rules", file], { encoding: "utf8" })).toContain("SUCCESS");
});

it("the service's alert rules and dashboard use only metrics that the service has", () => {
  const known = new Set(SOURCES.flatMap((file) => readFileSync(file, "utf8").match(/booth_service_\w+/g) ?? []));
  const used = [RULES, DASHBOARD].flatMap((file) => readFileSync(file, "utf8").match(/booth_service_\w+/g) ?? []);
  expect(used.length).toBeGreaterThan(20);
  expect(used.filter((name) => !known.has(name))).toEqual([]);
});
