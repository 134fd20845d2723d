import { readFile } from "node:fs/promises";
import type { BoothCounts } from "../domain/agent-control.ts";
import type { AgentStatus, BoothStatus } from "../domain/status.ts";

type Labels = Readonly<Record<string, string>>;

const gauge = family("gauge");
const counter = family("counter");
const histogram = family("histogram");

const LINK_STATES = ["up", "degraded", "down"] as const;

/** `/metrics` in Prometheus' text format, version 0.0.4. */
export async function metricsText(status: AgentStatus, counts: readonly BoothCounts[]): Promise<string> {
  const figures = await processFigures();
  return [...agentFamilies(status, figures), ...boothFamilies(status.booths), ...countFamilies(counts)].join("");
}

/** Of the process, from the kernel. */
async function processFigures() {
  const { rss: resident_bytes, heapUsed: heap_bytes } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  return { resident_bytes, heap_bytes, cpu_seconds: (user + system) / 1e6, written_bytes: await writtenBytes() };
}

/** proc(5), /proc/pid/io: bytes that the process caused to be sent to the storage layer. Closed to some hardened units. */
async function writtenBytes(): Promise<number | null> {
  const text = await readFile("/proc/self/io", "utf8").catch(() => "");
  const found = /^write_bytes: (\d+)$/m.exec(text)?.[1];
  return found === undefined ? null : Number(found);
}

function agentFamilies(status: AgentStatus, figures: Awaited<ReturnType<typeof processFigures>>): string[] {
  const { agent_version, gateway_id, service, clock } = status;
  const { resident_bytes, heap_bytes, cpu_seconds, written_bytes } = figures;
  const written = written_bytes === null ? [] : [sample({}, written_bytes)];
  return [
    gauge("info", "Who this is.", [sample({ version: agent_version, gateway: gateway_id }, 1)]),
    gauge("start_time_seconds", "Start of the agent, Unix time.", [sample({}, status.started_at / 1000)]),
    gauge("service_link_state", "1 for the state of the link to the service.", linkSamples({}, service.kind)),
    gauge("clock_synced", "1: somebody has vouched for the time.", [sample({}, clock.synced ? 1 : 0)]),
    gauge("disabled_booths", "Booths that can't run as configured.", [sample({}, status.disabled.length)]),
    gauge("memory_resident_bytes", "Resident memory.", [sample({}, resident_bytes)]),
    gauge("memory_heap_bytes", "JavaScript heap of the main thread in use.", [sample({}, heap_bytes)]),
    counter("cpu_seconds_total", "CPU time of all threads.", [sample({}, cpu_seconds)]),
    ...written.map((line) => counter("written_bytes_total", "Bytes the process had written to disks.", [line])),
  ];
}

function boothFamilies(booths: readonly BoothStatus[]): string[] {
  const each = (name: string, help: string, value: (booth: BoothStatus) => number | null): string => {
    const known = booths.map((booth) => ({ booth: booth.booth, figure: value(booth) }));
    return gauge(
      name,
      help,
      known.flatMap(({ booth, figure }) => (figure === null ? [] : [sample({ booth }, figure)])),
    );
  };
  const links = booths.flatMap(({ booth, plc }) => linkSamples({ booth }, plc.kind));
  const modes = booths.map(({ booth, now }) => sample({ booth, mode: now?.mode ?? "no_data" }, 1));
  const states = booths.map(({ booth, provisioning }) => sample({ booth, state: provisioning.state }, 1));
  return [
    gauge("plc_link_state", "1 for the state of the link to the booth's PLC.", links),
    gauge("mode", "1 for the booth's mode.", modes),
    gauge("provisioning_state", "1 for the state of the booth's binding.", states),
    each(
      "reconciliation_differences",
      "Figures of the last compared day that differ from the service's; target 0.",
      ({ reconciliation }) => (reconciliation?.kind === "done" ? reconciliation.remaining.length : null),
    ),
    each("log_newest_seq", "Newest record of the log.", ({ log }) => log.newest_seq),
    each("acked_seq", "Newest record that the service has acked.", ({ log }) => log.acked_seq),
    each("backlog_records", "Records that wait to be acked.", ({ log }) => log.newest_seq - log.acked_seq),
    each("pending_polls", "Polls that no commit holds yet.", ({ log }) => log.pending),
    each("commit_milliseconds", "Time of the last commit.", ({ log }) => log.commit_ms),
    each("store_used_bytes", "Disk space in use.", ({ log }) => log.storage?.used_bytes ?? null),
    each(
      "store_hours_to_full",
      "Until records must be given up if the service takes none.",
      ({ log }) => log.storage?.hours_to_full ?? null,
    ),
  ];
}

function countFamilies(counts: readonly BoothCounts[]): string[] {
  const polls = [
    ...counts.map(({ booth, polls_answered }) => sample({ booth, outcome: "answered" }, polls_answered)),
    ...counts.map(({ booth, polls_failed }) => sample({ booth, outcome: "failed" }, polls_failed)),
  ];
  const requests = counts
    .filter((one) => one.requests.asked > 0)
    .flatMap(({ booth, requests: { asked, missed } }) => [
      sample({ booth, outcome: "answered" }, asked - missed),
      sample({ booth, outcome: "missed" }, missed),
    ]);
  const commits = counts.map(({ booth, commits: all }) => sample({ booth }, all));
  const incidents = counts.map(({ booth, open_incidents }) => sample({ booth }, open_incidents));
  return [
    counter("polls_total", "Polls since the start, by outcome.", polls),
    counter("plc_requests_total", "Requests to the PLC since the start, by outcome.", requests),
    counter("commits_total", "Commits since the start.", commits),
    gauge("open_incidents", "Validation incidents not resolved.", incidents),
    histogram("poll_lateness_seconds", "How late polls began after they were due.", counts.flatMap(lateness)),
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

function linkSamples(labels: Labels, kind: string): string[] {
  return LINK_STATES.map((state) => sample({ ...labels, state }, kind === state ? 1 : 0));
}

/** Of a type: the lines of one figure, by its name, what it tells, and its samples. */
function family(type: "gauge" | "counter" | "histogram") {
  return (name: string, help: string, samples: readonly string[]): string => {
    const full = `booth_gateway_${name}`;
    const lines = [`# HELP ${full} ${help}`, `# TYPE ${full} ${type}`, ...samples.map((line) => `${full}${line}`)];
    return `${lines.join("\n")}\n`;
  };
}

function sample(labels: Labels, value: number): string {
  const inner = Object.entries(labels).map(([name, text]) => `${name}="${escaped(text)}"`);
  return `${inner.length === 0 ? "" : `{${inner.join(",")}}`} ${value.toString()}`;
}

function escaped(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n");
}
