import { render } from "../../../src/domain/messages/render.ts";
import { statSync } from "node:fs";
import { join } from "node:path";
import type { TakenEntry } from "../../../src/domain/taken.ts";
import { dayBefore } from "../../../src/provisioning/rules/reconciliation.ts";
import type { AgentStatus } from "../../../src/domain/status.ts";
import type { VirtualSite } from "../../support/virtual-site.ts";
import type { FieldState } from "../field/state.ts";
import { MINUTE_MS } from "../../../src/domain/time.ts";

/** Longer than a tag of the fast group may be bad before it must be reported. */
const REPORTED_WITHIN_MS = 3 * MINUTE_MS;
/** After a fault of the PLC: a stretch of counted requests must have passed. */
const WELL_AFTER_MS = 15 * MINUTE_MS;
/** A comparison waits for delivery and twice for half an hour of backfill. */
const COMPARED_WITHIN_MS = 2 * 60 * MINUTE_MS;
/** After a failure a comparison is tried again within 65 min. */
const RETRIED_WITHIN_MS = 75 * MINUTE_MS;
const DUE_AFTER_MS = 150 * MINUTE_MS;
/** Maximum sizes of a status and of the identity file, whatever the service answers. */
const MOST_STATUS_CHARS = 200_000;
const MOST_IDENTITY_BYTES = 2_000_000;

/** State kept between two looks. */
export interface FieldWatching {
  /** Log lines seen so far. */
  lines: number;
  /** The present span of a device that closes each connection: its start, and the log lines about changes of the PLC's link. */
  closing: { readonly from: number; readonly changes: string[] } | null;
  comparison: { readonly id: string; readonly kind: string; readonly since: number } | null;
  /** Records waiting for a service that closes after each ack, and since when; null: something else is wrong too. */
  closing_service: { readonly since: number; readonly seq: number } | null;
}

export function newFieldWatching(): FieldWatching {
  return { lines: 0, closing: null, comparison: null, closing_service: null };
}

export interface FieldLook {
  readonly site: VirtualSite;
  readonly folder: string;
  readonly field: FieldState;
  readonly now: number;
  /** How long the process has run. */
  readonly ran_ms: number;
  /** True instant since which no fault has kept the PLC from being read, but for its power and its cable. */
  readonly plc_well_since: number;
  /** How long the service has been reachable and telling the truth. */
  readonly service_well_ms: number;
  /** The service ends each session after an ack, and nothing else is wrong with its way or the disk. */
  readonly is_only_closed: boolean;
}

/** Returns what is wrong, as sentences. */
export function fieldFaults(watching: FieldWatching, status: AgentStatus, look: FieldLook): readonly string[] {
  return [
    ...wrongTypeFaults(status, look),
    ...closingFaults(watching, status, look),
    ...closingServiceFaults(watching, status, look),
    ...comparisonFaults(watching, status, look),
    ...boundFaults(status, look),
  ];
}

/** Whether the PLC could be read for so long, but for tags that are bad. */
function isReadable({ site, now, ran_ms, plc_well_since }: FieldLook, ms: number): boolean {
  const { plc, booth } = site;
  if (plc.fault !== null || plc.losses !== null || Math.min(ran_ms, now - plc_well_since) <= ms) return false;
  return booth.truth(now - ms, now).outages.length === 0;
}

function wrongTypeFaults({ booths: [booth] }: AgentStatus, look: FieldLook): readonly string[] {
  const { field, site, now } = look;
  const { bad_tags, closing } = site.plc;
  if (booth === undefined) return [];
  const { plc } = booth;
  const lasting = [...field.wrong].filter(([, since]) => now - since > REPORTED_WITHIN_MS).map(([tag]) => tag);
  if (lasting.length === 0) {
    const isSound = field.wrong.size === 0 && bad_tags.length === 0 && closing === null;
    return isSound && plc.kind === "degraded" && isReadable(look, WELL_AFTER_MS)
      ? [`every tag is read, and the link is degraded: ${render(plc.reason)}`]
      : [];
  }
  if (!isReadable(look, REPORTED_WITHIN_MS)) return [];
  const tags = lasting.join(", ");
  if (plc.kind !== "degraded") return [`${tags} has held a wrong type for minutes, and the link is ${plc.kind}`];
  const isNamed = bad_tags.length > 0 || lasting.every((tag) => render(plc.reason).includes(tag));
  return isNamed && plc.advice !== ""
    ? []
    : [`${tags} has held a wrong type for minutes, and people are told: ${render(plc.reason)}; ${render(plc.advice)}`];
}

/** Log lines about a change of the PLC's link; the first of them follows a link that was down. */
const ANSWERS_LINE = /^booth-1: PLC answers at /;
const LINK_LINE = /^booth-1: (PLC|all of the PLC)/;

/**
 * A close after a complete response is no failure. While nothing else keeps the PLC from being read, the link doesn't
 * go down, not even for the first poll that the device closes. It changes its state at most once.
 */
function closingFaults(watching: FieldWatching, { booths: [booth] }: AgentStatus, look: FieldLook): readonly string[] {
  const { site, field, now, ran_ms } = look;
  const news = site.lines.slice(watching.lines).filter((line) => LINK_LINE.test(line));
  watching.lines = site.lines.length;
  const span = field.closing.find(({ to }) => to === null);
  if (span === undefined || booth === undefined) {
    watching.closing = null;
    return [];
  }
  if (watching.closing?.from !== span.from) watching.closing = { from: span.from, changes: [] };
  if (!isReadable(look, 2 * REPORTED_WITHIN_MS)) return [];
  const text = "the PLC closes after each complete response, and its link";
  if (news.some((line) => ANSWERS_LINE.test(line))) return [`${text} has been down: ${news.slice(0, 3).join(" | ")}`];
  const isAlone = site.plc.bad_tags.length === 0 && field.wrong.size === 0;
  if (!isAlone || Math.min(now - span.from, ran_ms) <= 2 * REPORTED_WITHIN_MS) return [];
  const { changes } = watching.closing;
  changes.push(...news);
  if (changes.length > 1) return [`${text} changes: ${changes.splice(0).slice(0, 3).join(" | ")}`];
  const isWell = now - look.plc_well_since > WELL_AFTER_MS && isReadable(look, WELL_AFTER_MS);
  return booth.plc.kind === "down" || (isWell && booth.plc.kind !== "up")
    ? [`${text} is ${booth.plc.kind}: ${render(booth.plc.reason)}`]
    : [];
}

/** After a change of the PLC's power or cable a driver may hold values back for some polls. */
const SETTLED_MS = 3 * MINUTE_MS;

/**
 * Polls of one span that may lack tags. The agent measures in real time how soon a close follows an answer: if the
 * machine stalls for a quarter of a second, a close looks like that of a restarting device.
 */
const MOST_LACKING = 2;

/** The tags that another poll lacks although a device that closes each connection has answered every request. Empty: none. */
export function lostToClosing(
  entry: TakenEntry,
  { plc, booth, clock }: VirtualSite,
  field: FieldState,
): readonly string[] {
  const now = clock.truth();
  const span = field.closing.find(({ to }) => to === null);
  if (entry.kind !== "poll" || span === undefined || now - span.from < SETTLED_MS) return [];
  const lost = entry.changes.flatMap(([tag, , quality]) =>
    quality === "bad" && !plc.bad_tags.includes(tag) && !field.wrong.has(tag) ? [tag] : [],
  );
  if (lost.length === 0 || plc.fault !== null || plc.losses !== null) return [];
  if (booth.truth(now - SETTLED_MS, now).outages.length > 0) return [];
  span.lacking += 1;
  return span.lacking > MOST_LACKING ? lost : [];
}

/** Each session brings an ack before it ends, so that what waits is delivered by then. */
const ACKED_WITHIN_MS = 15 * MINUTE_MS;

function closingServiceFaults(
  watching: FieldWatching,
  { booths: [booth] }: AgentStatus,
  { now, ran_ms, is_only_closed }: FieldLook,
): readonly string[] {
  if (booth?.provisioning.state !== "active" || !is_only_closed) {
    watching.closing_service = null;
    return [];
  }
  const { newest_seq, acked_seq } = booth.log;
  const { since, seq } = (watching.closing_service ??= { since: now, seq: newest_seq });
  if (Math.min(now - since, ran_ms) <= ACKED_WITHIN_MS) return [];
  watching.closing_service = { since: now, seq: newest_seq };
  return acked_seq >= seq
    ? []
    : [`the service closes after each ack, and after minutes ${acked_seq} of ${seq} are acked`];
}

/** A comparison ends, and one that failed is tried again once the service is well. */
function comparisonFaults(
  watching: FieldWatching,
  { booths: [booth] }: AgentStatus,
  { now, ran_ms, service_well_ms }: FieldLook,
): readonly string[] {
  const one = booth?.reconciliation ?? null;
  const before = watching.comparison;
  if (one === null || before?.id !== one.id || before.kind !== one.kind) {
    watching.comparison = one === null ? null : { id: one.id, kind: one.kind, since: now };
    return [];
  }
  const lasts_ms = now - before.since;
  if (one.kind === "running" && lasts_ms > COMPARED_WITHIN_MS)
    return [`the comparison of ${one.day} has been running for ${(lasts_ms / MINUTE_MS).toFixed(0)} min`];
  if (one.kind !== "failed" || booth?.provisioning.state !== "active") return [];
  const day = dayBefore(booth.tz, now);
  // Of several days only the last one is compared automatically, at most two and a half hours after its end.
  const due_ms = now - day.end - DUE_AFTER_MS;
  const isLast = day.day === one.day && dayBefore(booth.tz, now - RETRIED_WITHIN_MS).day === one.day;
  const isDue = Math.min(lasts_ms, ran_ms, service_well_ms, due_ms) > RETRIED_WITHIN_MS;
  return isDue && isLast ? [`the comparison of ${one.day} failed, and isn't tried again: ${render(one.reason)}`] : [];
}

/** The status and the identity file are bounded. Checked after a foreign answer. */
function boundFaults(status: AgentStatus, { field, folder }: FieldLook): readonly string[] {
  if (!field.struck.has("foreign")) return [];
  const chars = JSON.stringify(status).length;
  const bytes = statSync(join(folder, "identity.db"), { throwIfNoEntry: false })?.size ?? 0;
  return [
    ...(chars > MOST_STATUS_CHARS ? [`the status has ${chars} characters`] : []),
    ...(bytes > MOST_IDENTITY_BYTES ? [`identity.db has ${bytes} bytes`] : []),
  ];
}
