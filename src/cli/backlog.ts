import { setTimeout as delay } from "node:timers/promises";
import type { AgentStatus, BacklogStatus, LinkStatus } from "../domain/status.ts";
import { agentOf } from "../tools/agent-client.ts";
import type { Run } from "../tools/command.ts";
import { barText, durationText, linesText, linkText, PLAIN, type Style, styleOf } from "../tools/texts.ts";
import { show } from "../tools/print.ts";
import { timeText, zoneOf } from "./time.ts";
import { monotonicMs } from "../monotonic.ts";

/** A measurement of a booth's backlog. `mono` is in milliseconds of the monotonic clock. */
export type Measurement = Pick<BacklogStatus, "newest_seq" | "acked_seq"> & { readonly mono: number };

/** The pace at which a backlog shrinks, between the first and the last measurement. */
type Drain = NonNullable<ReturnType<typeof drainOf>>;

/** The maximum age of a measurement that counts for the present pace. */
const PACE_MS = 30_000;

/** Returns the last measurement with the pace up to it; null if there are fewer than two measurements. */
export function drainOf(measurements: readonly Measurement[]) {
  const last = measurements.at(-1);
  const first = measurements.find(({ mono }) => last !== undefined && last.mono - mono <= PACE_MS);
  if (last === undefined || first === undefined || last.mono <= first.mono) return null;
  const seconds = (last.mono - first.mono) / 1_000;
  const waiting = waitingIn(last);
  const acked_per_s = Math.max(0, (last.acked_seq - first.acked_seq) / seconds);
  const new_per_s = Math.max(0, (last.newest_seq - first.newest_seq) / seconds);
  const net = acked_per_s - new_per_s;
  /** Milliseconds until the backlog is empty at this pace; 0 if it is empty, null if it doesn't shrink. */
  const done_in_ms = waiting === 0 ? 0 : net > 0 ? (waiting / net) * 1_000 : null;
  const most = Math.max(...measurements.map(waitingIn));
  /** The delivered share of the largest backlog seen, 0 to 1. */
  const share = most === 0 ? 1 : 1 - waiting / most;
  return { waiting, acked_per_s, new_per_s, done_in_ms, share };
}

function waitingIn({ newest_seq, acked_seq }: Measurement): number {
  return newest_seq - acked_seq;
}

/** The JSON answer of `booth-gateway backlog --json`. */
export type BacklogAnswer = ReturnType<typeof backlogAnswer>;

function backlogAnswer(
  status: AgentStatus,
  backlog: readonly BacklogStatus[],
  drainOf: (booth: string) => Drain | null,
) {
  const service: LinkStatus & { readonly url: string | null } = status.service;
  const booths = backlog.map(({ booth, newest_seq, acked_seq, oldest_at, hours_to_full }) => {
    const about = status.booths.find((one) => one.booth === booth);
    return {
      booth,
      /** The readings' destination. none: the service accepts no readings, and no reading waits for it. */
      delivery: about?.provisioning.delivery ?? "service",
      waiting: newest_seq - acked_seq,
      oldest_at,
      waiting_ms: oldest_at === null || about === undefined ? null : Math.max(0, about.time - oldest_at),
      hours_to_full,
      /** The backlog's pace; null if it was not measured, because the backlog is empty or the service is not connected. */
      drain: drainOf(booth),
    };
  });
  return { at: status.at, service, booths };
}

type BoothBacklog = BacklogAnswer["booths"][number];

export function backlogText(
  { at, service, booths }: BacklogAnswer,
  {
    style = PLAIN,
    bar = false,
    tz = "UTC",
  }: { readonly style?: Style; readonly bar?: boolean; readonly tz?: string } = {},
): string {
  return linesText([
    `service   ${service.url ?? "not configured yet"}: ${linkText(service, at, style)}`,
    ...booths.flatMap((booth) => ["", `${booth.booth}   ${waitingText(booth, tz)}`, ...detailLines(booth, bar)]),
  ]);
}

function waitingText({ delivery, waiting, waiting_ms, oldest_at }: BoothBacklog, tz: string): string {
  if (delivery === "none") return "this service does not accept readings: they are stored only on the gateway";
  if (waiting === 0) return "nothing is waiting";
  const since =
    oldest_at === null ? "" : `, the oldest for ${durationText(waiting_ms ?? 0)} (since ${timeText(oldest_at, tz)})`;
  const records = waiting === 1 ? "1 record waits" : `${waiting} records wait`;
  return `${records} for the ${delivery === "unknown" ? "service" : delivery}${since}`;
}

function detailLines({ delivery, waiting, drain, hours_to_full }: BoothBacklog, bar: boolean): (string | null)[] {
  if (delivery === "none") return [];
  const full =
    hours_to_full === null
      ? null
      : `  full      in ${durationText(Math.round(hours_to_full * 3_600_000))} if the service accepts none`;
  if (waiting === 0 || drain === null) return [full];
  const pace = `${rate(drain.acked_per_s)} records/s go, ${rate(drain.new_per_s)} come`;
  const end = drain.done_in_ms === null ? stillText(drain) : `done in about ${durationText(drain.done_in_ms)}`;
  return [`  rate      ${pace}: ${end}`, bar ? `  ${barText(drain.share)}` : null, full];
}

/** The minimum ratio of acked to new records at which a small backlog keeps up: its records are new, and the next ack covers them. */
const KEEPING_UP = 0.9;
/** The maximum number of records in a small backlog: one batch of a slow booth. */
const FEW_RECORDS = 50;

function stillText({ waiting, acked_per_s, new_per_s }: Drain): string {
  const isFew = waiting <= Math.max(FEW_RECORDS, 2 * new_per_s);
  return isFew && acked_per_s >= KEEPING_UP * new_per_s ? "it keeps up" : "it doesn't shrink";
}

function rate(per_s: number): string {
  return String(per_s < 10 ? Math.round(per_s * 10) / 10 : Math.round(per_s));
}

/** The time between the two measurements of a pace. */
const MEASURE_MS = 1_000;
/** The measurements that --watch keeps. Its progress bar starts at the largest backlog among them. */
const MAX_MEASUREMENTS = 3_600;

/** Runs `booth-gateway backlog`: shows the records that wait for the service, and when they will be delivered. */
export const backlogCommand: Run = async (call) => {
  const { values, io } = call;
  const agent = await agentOf(call);
  const seen = new Map<string, readonly Measurement[]>();
  const measure = async (): Promise<BacklogAnswer> => {
    const status = await agent.status();
    const backlog = await agent.get<readonly BacklogStatus[]>("/backlog");
    const mono = monotonicMs();
    for (const { booth, newest_seq, acked_seq } of backlog) {
      seen.set(booth, [...(seen.get(booth) ?? []).slice(-MAX_MEASUREMENTS), { mono, newest_seq, acked_seq }]);
    }
    return backlogAnswer(status, backlog, (booth) => drainOf(seen.get(booth) ?? []));
  };
  const isWatch = values["watch"] === true;
  return show(call, async () => {
    let answer = await measure();
    const moves = answer.service.kind === "up" && answer.booths.some(({ waiting }) => waiting > 0);
    if (moves && !isWatch) {
      await delay(MEASURE_MS, undefined, { signal: io.signal });
      answer = await measure();
    }
    return {
      answer,
      text: backlogText(answer, { style: styleOf(io), bar: io.isTerminal && isWatch, tz: zoneOf(values) }),
    };
  });
};
