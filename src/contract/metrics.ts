import type { BoothCounts } from "../domain/agent-control.ts";
import type { AgentStatus, BoothStatus, OutputStatus } from "../domain/status.ts";
import { PURPOSES, type TrafficStatus } from "../domain/traffic.ts";

/**
 * This module defines the agent's metrics, named by the Prometheus conventions: base units, and the suffix `_total` for counters. /metrics
 * shows them, and outputs of the kind otlp send them. They contain no readings and no secrets, and each label has few values.
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

/** A histogram: a cumulative count for each upper bound. The last bound is Infinity. */
export interface Distribution {
  readonly labels: Labels;
  readonly buckets: readonly { readonly le: number; readonly count: number }[];
  readonly sum: number;
}

export interface Metric extends MetricKind {
  /** The metric's name with the agent's prefix. */
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

/** All metrics. A test compares the table in the documentation with this table. */
export const METRICS = {
  info: of("gauge", "Version and id of the gateway; always 1.", "version gateway"),
  start_time_seconds: of("gauge", "Start time of the agent, Unix time."),
  config_refused: of("gauge", "1: the configuration file is invalid, and the last valid one is in use."),
  disabled_booths: of("gauge", "Booths that can't run as configured."),
  clock_synced: of("gauge", "1: a time source has confirmed the clock."),
  clock_waiting_records: of("gauge", "Records that wait for a confirmed clock before they are sent.", "booth"),
  service_link_state: of("gauge", "1 for the state of the link to the service.", "state"),
  certificate_end_timestamp_seconds: of("gauge", "Expiry time of a certificate, Unix time.", "link server"),
  memory_resident_bytes: of("gauge", "Resident memory."),
  memory_heap_bytes: of("gauge", "Used JavaScript heap of the main thread."),
  cpu_seconds_total: of("counter", "CPU time of all threads."),
  written_bytes_total: of("counter", "Bytes that the process wrote to disks."),
  network_bytes_total: of("counter", "Bytes over the network since the start, including TLS.", "purpose direction"),
  network_month_bytes: of("gauge", "Network bytes of this month (UTC) that count against the budget."),
  network_budget_bytes: of("gauge", "Monthly network budget; absent if there is no budget."),
  network_thrift_step: of("gauge", "Traffic reduction for the budget: 0 none, 4 all except mode changes."),
  output_link_state: of("gauge", "1 for the state of the link of an output.", "output kind state"),
  output_sent_total: of("counter", "Messages or requests that an output sent since the start.", "output"),
  output_waiting: of("gauge", "Records, or sets of metrics, that wait for an output.", "output"),
  output_given_up_points_total: of("counter", "Data points dropped since the start.", "output"),
  provisioning_state: of("gauge", "1 for the state of the booth's binding.", "booth state"),
  plc_link_state: of("gauge", "1 for the state of the link to the booth's PLC.", "booth state"),
  mode: of("gauge", "1 for the booth's mode.", "booth mode"),
  cycles_today: of("gauge", "Cycles of the local day so far.", "booth"),
  filter_used_ratio: of("gauge", "Used share of a filter's limit; over 1 in overuse.", "booth filter"),
  last_reading_timestamp_seconds: of("gauge", "Last time at which the mode was known, Unix time.", "booth"),
  polls_total: of("counter", "Polls since the start, by outcome.", "booth outcome"),
  plc_requests_total: of("counter", "Requests to the PLC since the start, by outcome.", "booth outcome"),
  poll_lateness_seconds: of("histogram", "Delay between the due time and the start of polls.", "booth"),
  pending_polls: of("gauge", "Polls that are not committed yet.", "booth"),
  commits_total: of("counter", "Commits since the start.", "booth"),
  last_commit_duration_seconds: of("gauge", "Duration of the last commit.", "booth"),
  last_commit_timestamp_seconds: of("gauge", "Time of the last commit, Unix time.", "booth"),
  store_failing: of("gauge", "1: readings can't be committed.", "booth"),
  store_used_bytes: of("gauge", "Disk space that the store uses.", "booth"),
  store_max_bytes: of("gauge", "Disk space that the store may use.", "booth"),
  store_time_to_full_seconds: of("gauge", "Time until records are dropped if the service accepts none.", "booth"),
  missing_records: of("gauge", "Damaged records that were quarantined.", "booth"),
  log_newest_seq: of("gauge", "Sequence number of the newest record.", "booth"),
  acked_seq: of("gauge", "Sequence number of the newest acked record.", "booth"),
  backlog_records: of("gauge", "Records that are not acked yet.", "booth"),
  service_lacking_records: of("gauge", "Records that the service lost after its ack and gets again.", "booth"),
  refused_records: of("gauge", "Records that the service permanently rejected.", "booth"),
  reconciliation_differences: of(
    "gauge",
    "Figures of the last compared day that differ from the service's; target 0.",
    "booth",
  ),
  open_incidents: of("gauge", "Unresolved validation incidents.", "booth"),
} as const satisfies Readonly<Record<string, MetricKind>>;

export type MetricName = keyof typeof METRICS;

/** Figures of the process from the kernel. `written_bytes` is null if the kernel does not count written bytes. */
export interface ProcessFigures {
  readonly resident_bytes: number;
  readonly heap_bytes: number;
  readonly cpu_seconds: number;
  readonly written_bytes: number | null;
}

type Found = Readonly<Partial<Record<MetricName, readonly Sample[]>>>;
type Known = number | boolean | null | undefined;

/** Returns all metrics that currently have a value. */
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

/** Makes a sample; returns an empty list for an unknown value. */
function sampled(value: Known, labels: Labels = {}): readonly Sample[] {
  return value === null || value === undefined ? [] : [{ labels, value: Number(value) }];
}

function linkSamples(labels: Labels, kind: string): readonly Sample[] {
  return LINK_STATES.flatMap((state) => sampled(kind === state, { ...labels, state }));
}

function seconds(ms: number | null | undefined): number | null {
  return ms === null || ms === undefined ? null : ms / 1000;
}

function agentSamples(status: AgentStatus, figures: ProcessFigures): Found {
  const { agent_version: version, gateway_id: gateway, service, clock, certificates } = status;
  return {
    info: sampled(1, { version, gateway }),
    start_time_seconds: sampled(status.started_at / 1000),
    config_refused: sampled(status.config_refused !== null),
    disabled_booths: sampled(status.disabled.length),
    clock_synced: sampled(clock.synced),
    service_link_state: linkSamples({}, service.kind),
    certificate_end_timestamp_seconds: certificates.flatMap(({ link, server, expires }) =>
      sampled(expires / 1000, { link, server: server ?? "" }),
    ),
    memory_resident_bytes: sampled(figures.resident_bytes),
    memory_heap_bytes: sampled(figures.heap_bytes),
    cpu_seconds_total: sampled(figures.cpu_seconds),
    written_bytes_total: sampled(figures.written_bytes),
  };
}

function trafficSamples({ since_start, month, budget_bytes, thrift }: TrafficStatus): Found {
  return {
    network_bytes_total: PURPOSES.flatMap((purpose) =>
      (["up", "down"] as const).flatMap((direction) =>
        sampled(since_start[purpose][direction], { purpose, direction }),
      ),
    ),
    network_month_bytes: sampled(month.metered),
    network_budget_bytes: sampled(budget_bytes),
    network_thrift_step: sampled(thrift),
  };
}

function outputSamples(outputs: readonly OutputStatus[]): Found {
  const each = (value: (output: OutputStatus) => Known): readonly Sample[] =>
    outputs.flatMap((output) => sampled(value(output), { output: output.name }));
  return {
    output_link_state: outputs.flatMap(({ name: output, kind, link }) =>
      linkSamples({ output, kind: kind ?? "" }, link.kind),
    ),
    output_sent_total: each(({ sent }) => sent),
    output_waiting: each(
      ({ booths, pushed }) => pushed?.waiting ?? booths.reduce((sum, { waiting }) => sum + waiting, 0),
    ),
    output_given_up_points_total: each(({ pushed }) => pushed?.given_up),
  };
}

function boothSamples(booths: readonly BoothStatus[]): Found {
  const each = (value: (booth: BoothStatus) => Known): readonly Sample[] =>
    booths.flatMap((booth) => sampled(value(booth), { booth: booth.booth }));
  return {
    provisioning_state: booths.flatMap(({ booth, provisioning: { state } }) => sampled(1, { booth, state })),
    plc_link_state: booths.flatMap(({ booth, plc }) => linkSamples({ booth }, plc.kind)),
    mode: booths.flatMap(({ booth, now }) => sampled(1, { booth, mode: now?.mode ?? "no_data" })),
    cycles_today: each(({ now }) => now?.cycles_today),
    filter_used_ratio: booths.flatMap(({ booth, now }) =>
      Object.entries(now?.filters ?? {}).flatMap(([filter, { percent }]) =>
        sampled(percent === null ? null : percent / 100, { booth, filter }),
      ),
    ),
    last_reading_timestamp_seconds: each(({ now }) => seconds(now?.last_good_at)),
    clock_waiting_records: each(({ log }) => log.waiting_for_clock),
    pending_polls: each(({ log }) => log.pending),
    last_commit_duration_seconds: each(({ log }) => seconds(log.commit_ms)),
    last_commit_timestamp_seconds: each(({ log }) => seconds(log.last_commit_at)),
    store_failing: each(({ log }) => log.trouble !== ""),
    store_used_bytes: each(({ log }) => log.storage?.used_bytes),
    store_max_bytes: each(({ log }) => log.storage?.max_bytes),
    store_time_to_full_seconds: each(({ log: { storage } }) => {
      const hours = storage?.hours_to_full ?? null;
      return hours === null ? null : hours * 3_600;
    }),
    missing_records: each(({ log }) => log.storage?.quarantined),
    log_newest_seq: each(({ log }) => log.newest_seq),
    acked_seq: each(({ log }) => log.acked_seq),
    backlog_records: each(({ log }) => log.newest_seq - log.acked_seq),
    service_lacking_records: each(({ log: { lacking } }) =>
      lacking === null ? 0 : Math.max(0, lacking.records - lacking.resent),
    ),
    refused_records: each(({ log }) => log.refused.count),
    reconciliation_differences: each(({ reconciliation }) =>
      reconciliation?.kind === "done" ? reconciliation.remaining_count : null,
    ),
  };
}

function countSamples(counts: readonly BoothCounts[]): Found {
  return {
    polls_total: counts.flatMap(({ booth, polls_answered, polls_failed }) => [
      ...sampled(polls_answered, { booth, outcome: "answered" }),
      ...sampled(polls_failed, { booth, outcome: "failed" }),
    ]),
    plc_requests_total: counts
      .filter(({ requests }) => requests.asked > 0)
      .flatMap(({ booth, requests: { asked, missed } }) => [
        ...sampled(asked - missed, { booth, outcome: "answered" }),
        ...sampled(missed, { booth, outcome: "missed" }),
      ]),
    commits_total: counts.flatMap(({ booth, commits }) => sampled(commits, { booth })),
    open_incidents: counts.flatMap(({ booth, open_incidents }) => sampled(open_incidents, { booth })),
  };
}

function latenessOf({ booth, late, late_sum_ms }: BoothCounts): Distribution {
  const buckets = late.map(({ within_ms, polls }) => ({ le: within_ms / 1000, count: polls }));
  return { labels: { booth }, buckets, sum: late_sum_ms / 1000 };
}
