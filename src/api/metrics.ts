import type { BoothCounts } from "../domain/live.ts";
import type { AgentStatus, BoothStatus } from "../domain/status.ts";

/** Of the process, from the kernel. */
export interface ProcessFigures {
  readonly resident_bytes: number;
  readonly heap_bytes: number;
  readonly cpu_seconds: number;
  /** What the process had written to disks; null: the kernel doesn't tell. */
  readonly written_bytes: number | null;
}

interface Family {
  readonly name: string;
  readonly type: "gauge" | "counter" | "histogram";
  readonly help: string;
  readonly samples: readonly string[];
}

const LINK_STATES = ["up", "degraded", "down"] as const;

/** `/metrics` in Prometheus' text format, version 0.0.4. */
export function metricsText(status: AgentStatus, counts: readonly BoothCounts[], figures: ProcessFigures): string {
  const families = [...agentFamilies(status, figures), ...boothFamilies(status.booths), ...countFamilies(counts)];
  return families
    .map(({ name, type, help, samples }) => {
      const full = `booth_gateway_${name}`;
      return [`# HELP ${full} ${help}`, `# TYPE ${full} ${type}`, ...samples.map((line) => `${full}${line}`), ""].join(
        "\n",
      );
    })
    .join("");
}

function agentFamilies(status: AgentStatus, figures: ProcessFigures): Family[] {
  const { agent_version, gateway_id, service, clock } = status;
  const written = figures.written_bytes;
  return [
    family(["info", "gauge", "Who this is."], [sample({ version: agent_version, gateway: gateway_id }, 1)]),
    family(["start_time_seconds", "gauge", "Start of the agent, Unix time."], [sample({}, status.started_at / 1000)]),
    family(
      ["service_link_state", "gauge", "1 for the state of the link to the service."],
      linkSamples({}, service.kind),
    ),
    family(["clock_synced", "gauge", "1: somebody has vouched for the time."], [sample({}, clock.synced ? 1 : 0)]),
    family(["disabled_booths", "gauge", "Booths that can't run as configured."], [sample({}, status.disabled.length)]),
    family(["memory_resident_bytes", "gauge", "Resident memory."], [sample({}, figures.resident_bytes)]),
    family(
      ["memory_heap_bytes", "gauge", "JavaScript heap of the main thread in use."],
      [sample({}, figures.heap_bytes)],
    ),
    family(["cpu_seconds_total", "counter", "CPU time of all threads."], [sample({}, figures.cpu_seconds)]),
    ...(written === null
      ? []
      : [family(["written_bytes_total", "counter", "Bytes the process had written to disks."], [sample({}, written)])]),
  ];
}

function boothFamilies(booths: readonly BoothStatus[]): Family[] {
  const each = (value: (booth: BoothStatus) => number | null): string[] =>
    booths.flatMap((booth) => {
      const figure = value(booth);
      return figure === null ? [] : [sample({ booth: booth.booth }, figure)];
    });
  return [
    family(
      ["plc_link_state", "gauge", "1 for the state of the link to the booth's PLC."],
      booths.flatMap(({ booth, plc }) => linkSamples({ booth }, plc.kind)),
    ),
    family(
      ["mode", "gauge", "1 for the booth's mode."],
      booths.map(({ booth, now }) => sample({ booth, mode: now?.mode ?? "no_data" }, 1)),
    ),
    family(
      ["provisioning_state", "gauge", "1 for the state of the booth's binding."],
      booths.map(({ booth, provisioning }) => sample({ booth, state: provisioning.state }, 1)),
    ),
    family(
      [
        "reconciliation_differences",
        "gauge",
        "Figures of the last compared day that differ from the service's; target 0.",
      ],
      each(({ reconciliation }) => (reconciliation?.kind === "done" ? reconciliation.remaining.length : null)),
    ),
    family(
      ["log_newest_seq", "gauge", "Newest record of the log."],
      each(({ log }) => log.newest_seq),
    ),
    family(
      ["acked_seq", "gauge", "Newest record that the service has acked."],
      each(({ log }) => log.acked_seq),
    ),
    family(
      ["backlog_records", "gauge", "Records that wait to be acked."],
      each(({ log }) => log.newest_seq - log.acked_seq),
    ),
    family(
      ["pending_polls", "gauge", "Polls that no commit holds yet."],
      each(({ log }) => log.pending),
    ),
    family(
      ["commit_milliseconds", "gauge", "Time of the last commit."],
      each(({ log }) => log.commit_ms),
    ),
    family(
      ["store_used_bytes", "gauge", "Disk space in use."],
      each(({ log }) => log.storage?.used_bytes ?? null),
    ),
    family(
      ["store_hours_to_full", "gauge", "Until records must be given up if the service takes none."],
      each(({ log }) => log.storage?.hours_to_full ?? null),
    ),
  ];
}

function countFamilies(counts: readonly BoothCounts[]): Family[] {
  const each = (value: (booth: BoothCounts) => number): string[] =>
    counts.map((one) => sample({ booth: one.booth }, value(one)));
  return [
    family(
      ["polls_total", "counter", "Polls since the start, by outcome."],
      [
        ...counts.map((one) => sample({ booth: one.booth, outcome: "answered" }, one.polls_answered)),
        ...counts.map((one) => sample({ booth: one.booth, outcome: "failed" }, one.polls_failed)),
      ],
    ),
    family(
      ["plc_requests_total", "counter", "Requests to the PLC since the start, by outcome."],
      counts
        .filter(({ requests }) => requests.asked > 0)
        .flatMap(({ booth, requests: { asked, missed } }) => [
          sample({ booth, outcome: "answered" }, asked - missed),
          sample({ booth, outcome: "missed" }, missed),
        ]),
    ),
    family(
      ["commits_total", "counter", "Commits since the start."],
      each(({ commits }) => commits),
    ),
    family(
      ["open_incidents", "gauge", "Validation incidents not resolved."],
      each((one) => one.open_incidents),
    ),
    family(
      ["poll_lateness_seconds", "histogram", "How late polls began after they were due."],
      counts.flatMap(lateness),
    ),
  ];
}

function lateness({ booth, late, late_sum_ms }: BoothCounts): string[] {
  const all = late.at(-1)?.polls ?? 0;
  return [
    ...late.map(({ within_ms, polls }) => {
      const le = Number.isFinite(within_ms) ? (within_ms / 1000).toString() : "+Inf";
      return `_bucket${sample({ booth, le }, polls)}`;
    }),
    `_sum${sample({ booth }, late_sum_ms / 1000)}`,
    `_count${sample({ booth }, all)}`,
  ];
}

function linkSamples(labels: Readonly<Record<string, string>>, kind: string): string[] {
  return LINK_STATES.map((state) => sample({ ...labels, state }, kind === state ? 1 : 0));
}

function family(
  [name, type, help]: readonly [name: string, type: Family["type"], help: string],
  samples: readonly string[],
): Family {
  return { name, type, help, samples };
}

function sample(labels: Readonly<Record<string, string>>, value: number): string {
  const inner = Object.entries(labels).map(([name, text]) => `${name}="${escaped(text)}"`);
  return `${inner.length === 0 ? "" : `{${inner.join(",")}}`} ${value.toString()}`;
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
