import type { BoothCounts } from "../domain/agent-control.ts";
import type { AgentStatus, BoothStatus, OutputStatus } from "../domain/status.ts";
import { PURPOSES, type TrafficStatus } from "../domain/traffic.ts";

/**
 * The agent's figures for who watches machines, with names as Prometheus wants them: base units, `_total` on what only grows. /metrics
 * shows them, and an output of kind otlp pushes them. Never a reading, a secret, or what changes with every call: each label has few values.
 */

type Labels = Readonly<Record<string, string>>;

export interface MetricKind {
  readonly type: "gauge" | "counter" | "histogram";
  readonly help: string;
  readonly labels: readonly string[];
}

export interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

/** One count per bound, each including those below; the last bound is Infinity. */
export interface Distribution {
  readonly labels: Labels;
  readonly buckets: readonly { readonly le: number; readonly count: number }[];
  readonly sum: number;
}

export interface Metric extends MetricKind {
  /** With its prefix. */
  readonly name: string;
  readonly samples: readonly Sample[];
  readonly distributions: readonly Distribution[];
}

const PREFIX = "booth_gateway_";
const LINK_STATES = ["up", "degraded", "down"] as const;

const of = (type: MetricKind["type"], help: string, labels = ""): MetricKind => ({
  type,
  help,
  labels: labels === "" ? [] : labels.split(" "),
});

/** Every figure there is. The documentation's table is held against this one. */
export const METRICS = {
  info: of("gauge", "Who this is.", "version gateway"),
  start_time_seconds: of("gauge", "Start of the agent, Unix time."),
  config_refused: of("gauge", "1: the configuration's file isn't in use but the last one that was good."),
  disabled_booths: of("gauge", "Booths that can't run as configured."),
  clock_synced: of("gauge", "1: somebody has vouched for the time."),
  clock_waiting_records: of("gauge", "Records that wait for a confirmed clock before the service gets them.", "booth"),
  service_link_state: of("gauge", "1 for the state of the link to the service.", "state"),
  certificate_end_timestamp_seconds: of("gauge", "When a certificate ends, Unix time.", "link server"),
  memory_resident_bytes: of("gauge", "Resident memory."),
  memory_heap_bytes: of("gauge", "JavaScript heap of the main thread in use."),
  cpu_seconds_total: of("counter", "CPU time of all threads."),
  written_bytes_total: of("counter", "Bytes the process had written to disks."),
  network_bytes_total: of("counter", "Bytes over the network since the start, TLS and all.", "purpose direction"),
  network_month_bytes: of("gauge", "Of this month (UTC), as far as it counts against the budget."),
  network_budget_bytes: of("gauge", "The month's budget; absent: there is none."),
  network_thrift_step: of("gauge", "What gives way to the budget: 0 nothing, 4 all but changes of mode."),
  output_link_state: of("gauge", "1 for the state of the link of an output.", "output kind state"),
  output_sent_total: of("counter", "Messages or requests of an output since the start.", "output"),
  output_waiting: of("gauge", "Records, or sets of figures, that wait for an output.", "output"),
  output_given_up_points_total: of("counter", "Data points that were given up since the start.", "output"),
  provisioning_state: of("gauge", "1 for the state of the booth's binding.", "booth state"),
  plc_link_state: of("gauge", "1 for the state of the link to the booth's PLC.", "booth state"),
  mode: of("gauge", "1 for the booth's mode.", "booth mode"),
  cycles_today: of("gauge", "Cycles of the local day.", "booth"),
  filter_used_ratio: of("gauge", "Used of a filter's life, by its limit; over 1 in overuse.", "booth filter"),
  last_reading_timestamp_seconds: of("gauge", "When the mode was known last, Unix time.", "booth"),
  polls_total: of("counter", "Polls since the start, by outcome.", "booth outcome"),
  plc_requests_total: of("counter", "Requests to the PLC since the start, by outcome.", "booth outcome"),
  poll_lateness_seconds: of("histogram", "How late polls began after they were due.", "booth"),
  pending_polls: of("gauge", "Polls that no commit holds yet.", "booth"),
  commits_total: of("counter", "Commits since the start.", "booth"),
  last_commit_duration_seconds: of("gauge", "Time that the last commit took.", "booth"),
  last_commit_timestamp_seconds: of("gauge", "When the last commit was, Unix time.", "booth"),
  store_failing: of("gauge", "1: readings can't be committed.", "booth"),
  store_used_bytes: of("gauge", "Disk space in use.", "booth"),
  store_max_bytes: of("gauge", "Disk space that it may use.", "booth"),
  store_time_to_full_seconds: of("gauge", "Until records must be given up if the service takes none.", "booth"),
  missing_records: of("gauge", "Records that were found damaged and taken out.", "booth"),
  log_newest_seq: of("gauge", "Newest record of the log.", "booth"),
  acked_seq: of("gauge", "Newest record that the service has acked.", "booth"),
  backlog_records: of("gauge", "Records that wait to be acked.", "booth"),
  refused_records: of("gauge", "Records that the service will never take.", "booth"),
  reconciliation_differences: of(
    "gauge",
    "Figures of the last compared day that differ from the service's; target 0.",
    "booth",
  ),
  open_incidents: of("gauge", "Validation incidents not resolved.", "booth"),
} as const satisfies Readonly<Record<string, MetricKind>>;

export type MetricName = keyof typeof METRICS;

/** Of the process, from the kernel; null: it doesn't tell. */
export interface ProcessFigures {
  readonly resident_bytes: number;
  readonly heap_bytes: number;
  readonly cpu_seconds: number;
  readonly written_bytes: number | null;
}

type Found = Readonly<Partial<Record<MetricName, readonly Sample[]>>>;

/** All figures that are known now. Those that nothing is known of are left out. */
export function metricsOf(
  status: AgentStatus,
  counts: readonly BoothCounts[],
  figures: ProcessFigures,
): readonly Metric[] {
  const found: Found = {
    ...agentSamples(status, figures),
    ...(status.traffic === undefined ? {} : trafficSamples(status.traffic)),
    ...outputSamples(status.outputs),
    ...boothSamples(status.booths),
    ...countSamples(counts),
  };
  const names = Object.keys(METRICS) as MetricName[];
  return names.flatMap((name): Metric[] => {
    const samples = found[name] ?? [];
    const distributions = name === "poll_lateness_seconds" ? counts.map(latenessOf) : [];
    if (samples.length + distributions.length === 0) return [];
    return [{ name: `${PREFIX}${name}`, ...METRICS[name], samples, distributions }];
  });
}

const one = (value: number | boolean | null): readonly Sample[] =>
  value === null ? [] : [{ labels: {}, value: Number(value) }];

function agentSamples(status: AgentStatus, figures: ProcessFigures): Found {
  const { agent_version: version, gateway_id: gateway, service, clock, certificates } = status;
  return {
    info: [{ labels: { version, gateway }, value: 1 }],
    start_time_seconds: one(status.started_at / 1000),
    config_refused: one(status.config_refused !== null),
    disabled_booths: one(status.disabled.length),
    clock_synced: one(clock.synced),
    service_link_state: linkSamples({}, service.kind),
    certificate_end_timestamp_seconds: certificates.map(({ link, server, expires }) => ({
      labels: { link, server: server ?? "" },
      value: expires / 1000,
    })),
    memory_resident_bytes: one(figures.resident_bytes),
    memory_heap_bytes: one(figures.heap_bytes),
    cpu_seconds_total: one(figures.cpu_seconds),
    written_bytes_total: one(figures.written_bytes),
  };
}

function trafficSamples({ since_start, month, budget_bytes, thrift }: TrafficStatus): Found {
  return {
    network_bytes_total: PURPOSES.flatMap((purpose) =>
      (["up", "down"] as const).map((direction) => ({
        labels: { purpose, direction },
        value: since_start[purpose][direction],
      })),
    ),
    network_month_bytes: one(month.metered),
    network_budget_bytes: one(budget_bytes),
    network_thrift_step: one(thrift),
  };
}

function outputSamples(outputs: readonly OutputStatus[]): Found {
  return {
    output_link_state: outputs.flatMap(({ name: output, kind, link }) =>
      linkSamples({ output, kind: kind ?? "" }, link.kind),
    ),
    output_sent_total: outputs.map(({ name: output, sent: value }) => ({ labels: { output }, value })),
    output_waiting: outputs.map(({ name: output, booths, pushed }) => ({
      labels: { output },
      value: pushed?.waiting ?? booths.reduce((sum, { waiting }) => sum + waiting, 0),
    })),
    output_given_up_points_total: outputs.flatMap(({ name: output, pushed }) =>
      pushed === undefined ? [] : [{ labels: { output }, value: pushed.given_up }],
    ),
  };
}

function boothSamples(booths: readonly BoothStatus[]): Found {
  const each = (value: (booth: BoothStatus) => number | null): readonly Sample[] =>
    booths.flatMap((booth) => one(value(booth)).map((sample) => ({ ...sample, labels: { booth: booth.booth } })));
  const seconds = (ms: number | null): number | null => (ms === null ? null : ms / 1000);
  return {
    provisioning_state: booths.map(({ booth, provisioning: { state } }) => ({ labels: { booth, state }, value: 1 })),
    plc_link_state: booths.flatMap(({ booth, plc }) => linkSamples({ booth }, plc.kind)),
    mode: booths.map(({ booth, now }) => ({ labels: { booth, mode: now?.mode ?? "no_data" }, value: 1 })),
    cycles_today: each(({ now }) => now?.cycles_today ?? null),
    filter_used_ratio: booths.flatMap(({ booth, now }) =>
      Object.entries(now?.filters ?? {}).flatMap(([filter, { percent }]) =>
        percent === null ? [] : [{ labels: { booth, filter }, value: percent / 100 }],
      ),
    ),
    last_reading_timestamp_seconds: each(({ now }) => seconds(now?.last_good_at ?? null)),
    clock_waiting_records: each(({ log }) => log.waiting_for_clock),
    pending_polls: each(({ log }) => log.pending),
    last_commit_duration_seconds: each(({ log }) => seconds(log.commit_ms)),
    last_commit_timestamp_seconds: each(({ log }) => seconds(log.last_commit_at)),
    store_failing: each(({ log }) => Number(log.trouble !== "")),
    store_used_bytes: each(({ log }) => log.storage?.used_bytes ?? null),
    store_max_bytes: each(({ log }) => log.storage?.max_bytes ?? null),
    store_time_to_full_seconds: each(({ log: { storage } }) => {
      const hours = storage?.hours_to_full ?? null;
      return hours === null ? null : hours * 3_600;
    }),
    missing_records: each(({ log }) => log.storage?.quarantined ?? null),
    log_newest_seq: each(({ log }) => log.newest_seq),
    acked_seq: each(({ log }) => log.acked_seq),
    backlog_records: each(({ log }) => log.newest_seq - log.acked_seq),
    refused_records: each(({ log }) => log.refused.count),
    reconciliation_differences: each(({ reconciliation }) =>
      reconciliation?.kind === "done" ? reconciliation.remaining_count : null,
    ),
  };
}

function countSamples(counts: readonly BoothCounts[]): Found {
  return {
    polls_total: counts.flatMap(({ booth, polls_answered, polls_failed }) => [
      { labels: { booth, outcome: "answered" }, value: polls_answered },
      { labels: { booth, outcome: "failed" }, value: polls_failed },
    ]),
    plc_requests_total: counts
      .filter(({ requests }) => requests.asked > 0)
      .flatMap(({ booth, requests: { asked, missed } }) => [
        { labels: { booth, outcome: "answered" }, value: asked - missed },
        { labels: { booth, outcome: "missed" }, value: missed },
      ]),
    commits_total: counts.map(({ booth, commits }) => ({ labels: { booth }, value: commits })),
    open_incidents: counts.map(({ booth, open_incidents }) => ({ labels: { booth }, value: open_incidents })),
  };
}

function latenessOf({ booth, late, late_sum_ms }: BoothCounts): Distribution {
  const buckets = late.map(({ within_ms, polls }) => ({ le: within_ms / 1000, count: polls }));
  return { labels: { booth }, buckets, sum: late_sum_ms / 1000 };
}

function linkSamples(labels: Labels, kind: string): readonly Sample[] {
  return LINK_STATES.map((state) => ({ labels: { ...labels, state }, value: Number(kind === state) }));
}
