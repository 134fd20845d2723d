import type { NoticeConfig } from "../../config/port.ts";
import { DAY_MS, HOUR_MS } from "../../domain/time.ts";
import { dayOf, instantOf, zoneOffsetMs } from "../../domain/time-zone.ts";
import type { BoothId, EpochMs, Milliseconds, Seq, StreamId } from "../../domain/units.ts";
import { type Change, type Condition, INCIDENT, type Subject } from "./events.ts";

/**
 * The ledger has the sent and waiting events of one notice.
 *
 * An event opens when a condition is on or the log shows its beginning, and waits until a message may be sent. Then a single message
 * reports all waiting events. The end of quiet hours, the limit per hour, or an outage of the mail server therefore cause one message each.
 * The end of an event is sent if its beginning was sent. An event that ended before it was sent is reported once, as "passed".
 *
 * Everything is bounded. If too many events wait, the oldest is dropped and counted ("and N more").
 *
 * The current message stays in `sending`, and is written before it is sent. If it is unknown whether the message was delivered, as after a
 * kill, the message is sent again unchanged under the same id. If it was not delivered, its events wait again.
 *
 * The ledger is written as JSON, so its field names are a disk format.
 */
export interface Ledger {
  /** The last examined record of each log. */
  readonly cursors: Readonly<Record<StreamId, Seq>>;
  /** Logs whose newest records wait for a confirmed clock. Their booths' present conditions are used instead of those records. */
  readonly unconfirmed: readonly StreamId[];
  /** Events that have begun and not ended, by booth and key. */
  readonly open: Readonly<Record<string, Open>>;
  /** The end of the newest event of each booth and key, because the log may report the same event again. */
  readonly until: Readonly<Record<string, EpochMs>>;
  readonly waiting: readonly NoticeEvent[];
  /** The number of events that were dropped from `waiting`, sent as "and N more". */
  readonly cut: number;
  readonly sending: Bundle | null;
  /** The times at which the last hour's messages were delivered. */
  readonly sent: readonly EpochMs[];
  readonly last: { readonly at: EpochMs; readonly what: string; readonly answer: string } | null;
}

interface Open extends Omit<Subject, "key"> {
  readonly began: EpochMs;
  /** True if the event's beginning was sent, or is being sent. */
  readonly told: boolean;
}

interface Begun extends Subject {
  readonly booth: BoothId | null;
  readonly began: EpochMs;
}

/** An event as a message reports it. */
export interface NoticeEvent extends Begun {
  /** began: started and still active. ended: already reported, now over. passed: started and ended since the last message. */
  readonly state: "began" | "ended" | "passed";
  readonly ended: EpochMs | null;
}

/** The events of one message. */
export interface Bundle {
  readonly id: string;
  readonly events: readonly NoticeEvent[];
  readonly more: number;
}

export type Plan = Pick<NoticeConfig, "events" | "urgent" | "max_per_hour"> & {
  readonly quiet: { readonly from_ms: Milliseconds; readonly to_ms: Milliseconds; readonly tz: string } | null;
};

/** The maximum number of waiting events. If a day has more events, they have a common cause, which is among these. */
export const MAX_WAITING = 100;
/** The maximum number of open events: several for each of 64 booths. */
const MAX_OPEN = 500;
/** The maximum number of events that a message names. */
export const MAX_LINES = 20;
/**
 * The accepted difference between two ends of the same stage. The log and the booth's state give the same end, unless the clock was set in
 * between.
 */
const SAME_MS: Milliseconds = 1_000;

export function emptyLedger(): Ledger {
  return {
    cursors: {},
    unconfirmed: [],
    open: {},
    until: {},
    waiting: [],
    cut: 0,
    sending: null,
    sent: [],
    last: null,
  };
}

/** Returns the key of an event in the ledger's maps `open` (lasting events) and `until` (end of the last event). */
const placeOf = (booth: BoothId | null, key: string): string => `${booth ?? ""} ${key}`;

const isSameSubject = (one: NoticeEvent, other: Pick<NoticeEvent, "booth" | "key">): boolean =>
  one.key === other.key && one.booth === other.booth;

interface Observation {
  /** The booth; null for the gateway itself. */
  readonly booth: BoothId | null;
  readonly conditions: readonly Condition[];
  /** The number of open incidents; null if it is unknown. */
  readonly open_incidents: number | null;
  /** True if `conditions` includes all open incidents. */
  readonly has_incidents?: boolean;
  readonly time: EpochMs;
}

/**
 * Applies the present conditions of a booth. Forgets open events without a condition (a filter or limit that was removed). Incidents come
 * from the log. They end if the booth has no open incident, because the log may have been restored from an old copy.
 */
export function observed(
  ledger: Ledger,
  { booth, conditions, open_incidents, time, has_incidents = false }: Observation,
  plan: Plan,
): Ledger {
  let now = ledger;
  for (const { is, since, key, class: of, what } of conditions) {
    if (is === "on") now = begin(now, { booth, key, class: of, what, began: since }, plan);
    if (is === "off") now = end(now, { booth, key, at: since });
  }
  const known = new Set(conditions.map(({ key }) => placeOf(booth, key)));
  const prefix = placeOf(booth, "");
  const gone: string[] = [];
  for (const [place, open] of Object.entries(now.open)) {
    if (!place.startsWith(prefix)) continue;
    if (open.class !== INCIDENT) {
      if (!known.has(place)) gone.push(place);
    } else if (open_incidents === 0 || (has_incidents && !known.has(place))) {
      now = end(now, { booth, key: place.slice(prefix.length), at: time });
    }
  }
  return withoutOpen(now, gone);
}

/** Applies the changes that the booth's log shows. */
export function withChanges(
  ledger: Ledger,
  { booth, changes }: { readonly booth: BoothId; readonly changes: readonly Change[] },
  plan: Plan,
): Ledger {
  return changes.reduce((now, change) => {
    if (change.kind === "ended") return end(now, { booth, key: change.key, at: change.at });
    const { key, class: of, what } = change;
    const event = { booth, key, class: of, what };
    if (change.kind === "began") return begin(now, { ...event, began: change.at }, plan);
    return pass(now, { ...event, began: change.began, ended: change.ended }, plan);
  }, ledger);
}

/** Forgets the open events of booths that are not configured. */
export function ofBooths(ledger: Ledger, booths: readonly BoothId[]): Ledger {
  const gone = Object.keys(ledger.open).filter((place) => !["", ...booths].includes(place.split(" ")[0] ?? ""));
  return withoutOpen(ledger, gone);
}

export function movedTo(ledger: Ledger, stream: StreamId, seq: Seq): Ledger {
  return { ...ledger, cursors: { ...ledger.cursors, [stream]: seq } };
}

/** Notes whether the log's newest records wait for a confirmed clock. */
export function withUnconfirmed(ledger: Ledger, stream: StreamId, is_unconfirmed: boolean): Ledger {
  const others = ledger.unconfirmed.filter((one) => one !== stream);
  if (others.length === ledger.unconfirmed.length && !is_unconfirmed) return ledger;
  return { ...ledger, unconfirmed: is_unconfirmed ? [...others, stream] : others };
}

function begin(ledger: Ledger, event: Begun, plan: Plan): Ledger {
  const place = placeOf(event.booth, event.key);
  if (!plan.events.includes(event.class) || ledger.open[place] !== undefined) return ledger;
  if (Object.keys(ledger.open).length >= MAX_OPEN) return { ...ledger, cut: ledger.cut + 1 };
  const { class: of, what, began } = event;
  const open = { ...ledger.open, [place]: { class: of, what, began, told: false } };
  return queued({ ...ledger, open }, [...ledger.waiting, { ...event, state: "began", ended: null }]);
}

function end(
  ledger: Ledger,
  event: { readonly booth: BoothId | null; readonly key: string; readonly at: EpochMs },
): Ledger {
  const { booth, key, at } = event;
  const place = placeOf(booth, key);
  const open = ledger.open[place];
  if (open === undefined) return ledger;
  const { told, ...begun } = open;
  const ended = Math.max(at, begun.began);
  const over = { ...withoutOpen(ledger, [place]), until: { ...ledger.until, [place]: ended } };
  if (told) return queued(over, [...ledger.waiting, { booth, key, ...begun, state: "ended", ended }]);
  const waiting = over.waiting.map((one): NoticeEvent => {
    return one.state === "began" && isSameSubject(one, event) ? { ...one, state: "passed", ended } : one;
  });
  return { ...over, waiting };
}

/** Applies a finished event. If the event's start was reported, queues a report of its end. If not, queues one report for both ("passed"). */
function pass(ledger: Ledger, event: Begun & { readonly ended: EpochMs }, plan: Plan): Ledger {
  const place = placeOf(event.booth, event.key);
  const open = ledger.open[place];
  if (open !== undefined && open.began < event.ended) return end(ledger, { ...event, at: event.ended });
  if (event.ended <= (ledger.until[place] ?? 0) + SAME_MS || !plan.events.includes(event.class)) return ledger;
  const until = { ...ledger.until, [place]: event.ended };
  return queued({ ...ledger, until }, [...ledger.waiting, { ...event, state: "passed" }]);
}

/** Sets the waiting events. If there are too many, drops and counts the oldest events. */
function queued(ledger: Ledger, waiting: readonly NoticeEvent[]): Ledger {
  const over = Math.max(0, waiting.length - MAX_WAITING);
  return { ...ledger, waiting: waiting.slice(over), cut: ledger.cut + over };
}

function withoutOpen(ledger: Ledger, places: readonly string[]): Ledger {
  if (places.length === 0) return ledger;
  return { ...ledger, open: Object.fromEntries(Object.entries(ledger.open).filter(([at]) => !places.includes(at))) };
}

/** The next step of the notice. `until` null: wait for news. */
export type Step =
  | { readonly kind: "send"; readonly ledger: Ledger; readonly bundle: Bundle }
  | { readonly kind: "wait"; readonly until: EpochMs | null };

/** Returns the next step. `id` becomes the id of a new message. */
export function nextStep(
  ledger: Ledger,
  plan: Plan,
  { now, id }: { readonly now: EpochMs; readonly id: string },
): Step {
  const quiet = quietUntil(plan, now);
  const isUrgent = ({ class: of }: NoticeEvent): boolean => plan.urgent.includes(of);
  const { sending, cut } = ledger;
  const going = (sending?.events ?? ledger.waiting).filter((event) => quiet === null || isUrgent(event));
  const hasMore = sending === null && cut > 0 && quiet === null;
  if (going.length === 0 && !hasMore) {
    return { kind: "wait", until: sending !== null || ledger.waiting.length > 0 || cut > 0 ? quiet : null };
  }
  const sent = ledger.sent.filter((at) => at > now - HOUR_MS && at <= now);
  if (sent.length >= plan.max_per_hour) return { kind: "wait", until: Math.min(...sent) + HOUR_MS };
  if (sending !== null) return { kind: "send", ledger: { ...ledger, sent }, bundle: sending };
  const sorted = [...going.filter(isUrgent), ...going.filter((one) => !isUrgent(one))];
  const events = sorted.slice(0, MAX_LINES);
  const bundle = { id, events, more: sorted.length - events.length + (hasMore ? cut : 0) };
  const waiting = ledger.waiting.filter((one) => !going.includes(one));
  const next = { ...ledger, sent, waiting, cut: hasMore ? 0 : cut, sending: bundle };
  return { kind: "send", ledger: withTold(next, events, true), bundle };
}

function withTold(ledger: Ledger, events: readonly NoticeEvent[], isReported: boolean): Ledger {
  const places = events.filter(({ state }) => state === "began").map(({ booth, key }) => placeOf(booth, key));
  const open = Object.entries(ledger.open).map(([place, one]) => {
    return [place, places.includes(place) ? { ...one, told: isReported } : one] as const;
  });
  return { ...ledger, open: Object.fromEntries(open) };
}

export function delivered(ledger: Ledger, last: NonNullable<Ledger["last"]>): Ledger {
  return { ...ledger, sending: null, sent: [...ledger.sent, last.at], last };
}

/** Queues the events of an undelivered message again, before newer events. An event that has ended in the meantime becomes "passed". */
export function putBack(ledger: Ledger): Ledger {
  const { sending } = ledger;
  if (sending === null) return ledger;
  const merged = new Set<NoticeEvent>();
  const back = sending.events.map((event): NoticeEvent => {
    const itsEnd = ledger.waiting.find((one) => one.state === "ended" && isSameSubject(one, event));
    if (event.state !== "began" || itsEnd === undefined) return event;
    merged.add(itsEnd);
    return { ...event, state: "passed", ended: itsEnd.ended };
  });
  const waiting = [...back, ...ledger.waiting.filter((one) => !merged.has(one))];
  return withTold(queued({ ...ledger, sending: null, cut: ledger.cut + sending.more }, waiting), sending.events, false);
}

/** Returns the end of the quiet hours at `now`; null outside the quiet hours. */
export function quietUntil({ quiet }: Plan, now: EpochMs): EpochMs | null {
  if (quiet === null) return null;
  const { from_ms, to_ms, tz } = quiet;
  const local = (((now + zoneOffsetMs(tz, now)) % DAY_MS) + DAY_MS) % DAY_MS;
  const isNight = to_ms < from_ms;
  if (isNight ? local < from_ms && local >= to_ms : local < from_ms || local >= to_ms) return null;
  return instantOf(tz, dayOf(tz, now) + (isNight && local >= from_ms ? 1 : 0), to_ms);
}
