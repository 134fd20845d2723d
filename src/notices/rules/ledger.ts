import type { NoticeConfig } from "../../config/port.ts";
import type { NoticeClass } from "../../domain/notice.ts";
import { dayOf, instantOf, zoneOffsetMs } from "../../domain/time-zone.ts";
import type { BoothId, EpochMs, Milliseconds, Seq, StreamId } from "../../domain/units.ts";
import { type Change, INCIDENT, type Look } from "./events.ts";
import { HOUR_MS, DAY_MS } from "../../domain/time.ts";

/**
 * What one notice has told, and what waits to be told. One event that waits goes by itself; several go as one. So quiet hours, the
 * bound per hour and days without a mail server all end in one message, not in a flood.
 */
export interface Ledger {
  /** How far each log was looked through. */
  readonly cursors: Readonly<Record<StreamId, Seq>>;
  /** Logs whose newest records wait for a confirmed clock: the state of their booths is looked at instead. */
  readonly unconfirmed: readonly StreamId[];
  /** What has begun and isn't over, by booth and key. */
  readonly open: Readonly<Record<string, Open>>;
  /** Until when the newest one of a key lasted, where the log tells of it again. */
  readonly until: Readonly<Record<string, EpochMs>>;
  readonly waiting: readonly Told[];
  /** Events that found no room: told as "and N more". */
  readonly cut: number;
  /** Under way; after a kill, or where nobody knows whether it got there, it goes again just as it is. */
  readonly sending: Bundle | null;
  /** When the messages of the last hour were taken. */
  readonly sent: readonly EpochMs[];
  readonly last: { readonly at: EpochMs; readonly what: string; readonly answer: string } | null;
}

interface Open {
  readonly class: NoticeClass;
  readonly what: string;
  readonly began: EpochMs;
  /** Its beginning is told, or under way: so its end will be. */
  readonly told: boolean;
}

/** One event as it is told. */
export interface Told {
  readonly booth: BoothId | null;
  readonly key: string;
  readonly class: NoticeClass;
  readonly what: string;
  /** began: it goes on. ended: its beginning was told before. passed: both. */
  readonly state: "began" | "ended" | "passed";
  readonly began: EpochMs;
  readonly ended: EpochMs | null;
}

/** Events that go in one message. */
export interface Bundle {
  readonly id: string;
  readonly events: readonly Told[];
  readonly more: number;
}

export type Plan = Pick<NoticeConfig, "events" | "urgent" | "max_per_hour"> & {
  readonly quiet: { readonly from_ms: Milliseconds; readonly to_ms: Milliseconds; readonly tz: string } | null;
};

/** What waits at most: a day with more has one cause, and that is among these. */
export const MAX_WAITING = 100;
/** What has begun and isn't over: 64 booths with some incidents each. */
const MAX_OPEN = 500;
/** Of one message; people read no further. */
export const MAX_LINES = 20;
/** The log and the booth's state tell the end of a stage alike, to the ms but for a clock that was put meanwhile. */
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

const placeOf = (booth: BoothId | null, key: string): string => `${booth ?? ""} ${key}`;

/**
 * What the booth is like now. What isn't among the looks any more (a filter, a limit taken out) is forgotten; incidents, which the log
 * tells of, are over where the booth has none: the log may have been put back from an old copy.
 */
export function looked(
  ledger: Ledger,
  { booth, looks, open_incidents, time, has_incidents = false }: Looked,
  plan: Plan,
): Ledger {
  let now = ledger;
  for (const { key, class: of, what, is, since } of looks) {
    if (is === "on") now = begin(now, { booth, key, class: of, what, began: since }, plan);
    if (is === "off") now = end(now, { booth, key, at: since });
  }
  const known = new Set(looks.map(({ key }) => placeOf(booth, key)));
  const own = Object.entries(now.open).filter(([place]) => place.startsWith(placeOf(booth, "")));
  const over = (place: string): boolean => open_incidents === 0 || (has_incidents && !known.has(place));
  const incidents = own.filter(([place, open]) => open.class === INCIDENT && over(place));
  for (const [place] of incidents) now = end(now, { booth, key: place.slice(placeOf(booth, "").length), at: time });
  const gone = own.filter(([place, open]) => open.class !== INCIDENT && !known.has(place)).map(([place]) => place);
  return gone.length === 0 ? now : { ...now, open: without(now.open, gone) };
}

interface Looked {
  /** null: the gateway. */
  readonly booth: BoothId | null;
  readonly looks: readonly Look[];
  /** null: not known. */
  readonly open_incidents: number | null;
  /** The looks hold all open incidents. */
  readonly has_incidents?: boolean;
  readonly time: EpochMs;
}

/** What the booth's log says. */
export function read(
  ledger: Ledger,
  { booth, changes }: { readonly booth: BoothId; readonly changes: readonly Change[] },
  plan: Plan,
): Ledger {
  return changes.reduce((now, change) => {
    if (change.kind === "ended") return end(now, { booth, key: change.key, at: change.at });
    const event = { booth, key: change.key, class: change.class, what: change.what };
    if (change.kind === "began") return begin(now, { ...event, began: change.at }, plan);
    return pass(now, { ...event, began: change.began, ended: change.ended }, plan);
  }, ledger);
}

/** Booths that aren't there any more have nothing open. */
export function only(ledger: Ledger, booths: readonly BoothId[]): Ledger {
  const places = Object.keys(ledger.open).filter((place) => !["", ...booths].includes(place.split(" ")[0] ?? ""));
  return places.length === 0 ? ledger : { ...ledger, open: without(ledger.open, places) };
}

export function movedTo(ledger: Ledger, stream: StreamId, seq: Seq): Ledger {
  return { ...ledger, cursors: { ...ledger.cursors, [stream]: seq } };
}

/** The log's newest records wait for a confirmed clock, or no longer. */
export function withUnconfirmed(ledger: Ledger, stream: StreamId, is_unconfirmed: boolean): Ledger {
  const others = ledger.unconfirmed.filter((one) => one !== stream);
  if (others.length === ledger.unconfirmed.length && !is_unconfirmed) return ledger;
  return { ...ledger, unconfirmed: is_unconfirmed ? [...others, stream] : others };
}

type Begun = Omit<Told, "state" | "ended">;

function begin(ledger: Ledger, event: Begun, plan: Plan): Ledger {
  const place = placeOf(event.booth, event.key);
  if (!plan.events.includes(event.class) || ledger.open[place] !== undefined) return ledger;
  if (Object.keys(ledger.open).length >= MAX_OPEN) return { ...ledger, cut: ledger.cut + 1 };
  const { class: of, what, began } = event;
  const open = { ...ledger.open, [place]: { class: of, what, began, told: false } };
  return wait({ ...ledger, open }, { ...event, state: "began", ended: null });
}

function end(
  ledger: Ledger,
  { booth, key, at }: { readonly booth: BoothId | null; readonly key: string; readonly at: EpochMs },
): Ledger {
  const place = placeOf(booth, key);
  const open = ledger.open[place];
  if (open === undefined) return ledger;
  const { class: of, what, began, told } = open;
  const ended = Math.max(at, began);
  const over = { ...ledger, open: without(ledger.open, [place]), until: { ...ledger.until, [place]: ended } };
  const event = { booth, key, class: of, what, began, ended };
  if (told) return wait(over, { ...event, state: "ended" });
  const isIt = (one: Told): boolean => one.state === "began" && one.key === key && one.booth === booth;
  const waiting = over.waiting.map((one): Told => (isIt(one) ? { ...one, state: "passed", ended } : one));
  return { ...over, waiting };
}

/** It is over already: where nobody saw it before, both are told as one. */
function pass(ledger: Ledger, event: Begun & { readonly ended: EpochMs }, plan: Plan): Ledger {
  const place = placeOf(event.booth, event.key);
  const open = ledger.open[place];
  if (open !== undefined && open.began < event.ended) return end(ledger, { ...event, at: event.ended });
  if (event.ended <= (ledger.until[place] ?? 0) + SAME_MS || !plan.events.includes(event.class)) return ledger;
  const until = { ...ledger.until, [place]: event.ended };
  return wait({ ...ledger, until }, { ...event, state: "passed" });
}

/** The oldest gives way. */
function wait(ledger: Ledger, event: Told): Ledger {
  const waiting = [...ledger.waiting, event];
  const over = Math.max(0, waiting.length - MAX_WAITING);
  return { ...ledger, waiting: waiting.slice(over), cut: ledger.cut + over };
}

function without<T>(all: Readonly<Record<string, T>>, places: readonly string[]): Readonly<Record<string, T>> {
  return Object.fromEntries(Object.entries(all).filter(([place]) => !places.includes(place)));
}

/** What to do now: `until` null: nothing before there is news. */
export type Step =
  | { readonly kind: "send"; readonly ledger: Ledger; readonly bundle: Bundle }
  | { readonly kind: "wait"; readonly until: EpochMs | null };

/** `id`: for a new message. */
export function nextStep(
  ledger: Ledger,
  plan: Plan,
  { now, id }: { readonly now: EpochMs; readonly id: string },
): Step {
  const quiet = quietUntil(plan, now);
  const mayGo = ({ class: of }: Told): boolean => quiet === null || plan.urgent.includes(of);
  const { sending, cut } = ledger;
  const going = (sending?.events ?? ledger.waiting).filter(mayGo);
  const hasMore = sending === null && cut > 0 && quiet === null;
  if (going.length === 0 && !hasMore) {
    return { kind: "wait", until: sending !== null || ledger.waiting.length > 0 || cut > 0 ? quiet : null };
  }
  const sent = ledger.sent.filter((at) => at > now - HOUR_MS && at <= now);
  if (sent.length >= plan.max_per_hour) return { kind: "wait", until: Math.min(...sent) + HOUR_MS };
  if (sending !== null) return { kind: "send", ledger: { ...ledger, sent }, bundle: sending };
  const isUrgent = ({ class: of }: Told): boolean => plan.urgent.includes(of);
  const sorted = [...going.filter(isUrgent), ...going.filter((one) => !isUrgent(one))];
  const events = sorted.slice(0, MAX_LINES);
  const bundle = { id, events, more: sorted.length - events.length + (hasMore ? cut : 0) };
  const waiting = ledger.waiting.filter((one) => !going.includes(one));
  const begun: Ledger = { ...ledger, sent, waiting, cut: hasMore ? 0 : cut, sending: bundle };
  return { kind: "send", ledger: marked(begun, events, true), bundle };
}

function marked(ledger: Ledger, events: readonly Told[], told: boolean): Ledger {
  const places = events.filter(({ state }) => state === "began").map(({ booth, key }) => placeOf(booth, key));
  const open = Object.fromEntries(
    Object.entries(ledger.open).map(([place, one]) => [place, places.includes(place) ? { ...one, told } : one]),
  );
  return { ...ledger, open };
}

export function delivered(ledger: Ledger, { at, what, answer }: NonNullable<Ledger["last"]>): Ledger {
  return { ...ledger, sending: null, sent: [...ledger.sent, at], last: { at, what, answer } };
}

/** It didn't get there: it waits again, in front of what has come since, and goes with that. */
export function putBack(ledger: Ledger): Ledger {
  const { sending } = ledger;
  if (sending === null) return ledger;
  const back = sending.events.map((event): Told => {
    const isItsEnd = (one: Told): boolean =>
      one.state === "ended" && one.key === event.key && one.booth === event.booth;
    const itsEnd = event.state === "began" ? ledger.waiting.find(isItsEnd) : undefined;
    return itsEnd === undefined ? event : { ...event, state: "passed", ended: itsEnd.ended };
  });
  const isBack = (one: Told): boolean =>
    one.state === "ended" &&
    back.some(
      ({ state, key, booth, ended }) =>
        state === "passed" && key === one.key && booth === one.booth && ended === one.ended,
    );
  const waiting = [...back, ...ledger.waiting.filter((one) => !isBack(one))];
  const over = Math.max(0, waiting.length - MAX_WAITING);
  const { more } = sending;
  const put = { ...ledger, sending: null, waiting: waiting.slice(over), cut: ledger.cut + over + more };
  return marked(put, sending.events, false);
}

/** The end of the quiet hours that `now` lies in; null: it lies in none. */
export function quietUntil({ quiet }: Plan, now: EpochMs): EpochMs | null {
  if (quiet === null) return null;
  const { from_ms, to_ms, tz } = quiet;
  const local = (((now + zoneOffsetMs(tz, now)) % DAY_MS) + DAY_MS) % DAY_MS;
  const isNight = to_ms < from_ms;
  if (isNight ? local < from_ms && local >= to_ms : local < from_ms || local >= to_ms) return null;
  return instantOf(tz, dayOf(tz, now) + (isNight && local >= from_ms ? 1 : 0), to_ms);
}
