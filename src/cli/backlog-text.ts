import type { AgentStatus, BacklogStatus, LinkStatus } from "../domain/status.ts";
import type { Drain } from "./backlog-drain.ts";
import { linkText } from "./link-text.ts";
import { PLAIN, type Style } from "./style.ts";
import { barText, lasting } from "./text.ts";

/** `booth-gateway backlog --json`. */
export interface BacklogAnswer {
  readonly at: number;
  readonly service: LinkStatus & { readonly url: string };
  readonly booths: readonly BoothBacklog[];
}

export interface BoothBacklog {
  readonly booth: string;
  /** none: the service takes no readings, so that nothing waits for it. */
  readonly delivery: AgentStatus["booths"][number]["provisioning"]["delivery"];
  readonly waiting: number;
  readonly oldest_at: number | null;
  readonly waiting_ms: number | null;
  readonly hours_to_full: number | null;
  /** null: not measured, because nothing waits or the service is away. */
  readonly drain: Drain | null;
}

export function backlogAnswer(
  status: AgentStatus,
  backlog: readonly BacklogStatus[],
  drainOf: (booth: string) => Drain | null,
): BacklogAnswer {
  const booths = backlog.map(({ booth, newest_seq, acked_seq, oldest_at, hours_to_full }) => {
    const about = status.booths.find((one) => one.booth === booth);
    return {
      booth,
      delivery: about?.provisioning.delivery ?? "service",
      waiting: newest_seq - acked_seq,
      oldest_at,
      waiting_ms: oldest_at === null || about === undefined ? null : Math.max(0, about.time - oldest_at),
      hours_to_full,
      drain: drainOf(booth),
    };
  });
  return { at: status.at, service: status.service, booths };
}

export function backlogText(
  { at, service, booths }: BacklogAnswer,
  { style = PLAIN, bar = false }: { readonly style?: Style; readonly bar?: boolean } = {},
): string {
  const blocks = booths.flatMap((booth) => ["", `${booth.booth}   ${waitingText(booth)}`, ...detailLines(booth, bar)]);
  return `${[`service   ${service.url}: ${linkText(service, at, style)}`, ...blocks].join("\n")}\n`;
}

function waitingText({ delivery, waiting, waiting_ms, oldest_at }: BoothBacklog): string {
  if (delivery === "none") return "this service takes no readings: they are kept here alone";
  if (waiting === 0) return "nothing waits";
  const since = oldest_at === null ? "" : `, the oldest for ${lasting(waiting_ms ?? 0)} (${time(oldest_at)})`;
  const records = waiting === 1 ? "1 record waits" : `${waiting.toString()} records wait`;
  return `${records} for the ${delivery === "unknown" ? "service" : delivery}${since}`;
}

function detailLines({ delivery, waiting, drain, hours_to_full }: BoothBacklog, bar: boolean): string[] {
  if (delivery === "none") return [];
  const full =
    hours_to_full === null ? [] : [`  full      in ${lasting(Math.round(hours_to_full * 3_600_000))} if none is taken`];
  if (waiting === 0 || drain === null) return full;
  const pace = `${rate(drain.acked_per_s)} records/s go, ${rate(drain.new_per_s)} come`;
  const end = drain.done_in_ms === null ? "it doesn't shrink" : `done in about ${lasting(drain.done_in_ms)}`;
  return [`  rate      ${pace}: ${end}`, ...(bar ? [`  ${barText(drain.share)}`] : []), ...full];
}

function rate(per_s: number): string {
  return per_s < 10 ? (Math.round(per_s * 10) / 10).toString() : Math.round(per_s).toString();
}

function time(ms: number): string {
  return new Date(ms).toISOString();
}
