import type { Box } from "../box.ts";
import { configOf, type Given, type Plant, type Seen, type Side } from "../outputs/plant.ts";
import type { Figure } from "../../../src/outputs/rules/figures.ts";
import type { PlantEvent } from "../outputs/broker.ts";
import { confirmations } from "./confirmed.ts";
import { devicesTold, sparkplugFaults } from "./sparkplug.ts";
import { keyOf, type ToldReading } from "./told.ts";

/** Laws for every output, independent of its protocol. */

export interface OutputLook {
  readonly plant: Plant;
  readonly boxes: readonly Box[];
  /** True instant up to which all readings must have been published. */
  readonly due: number;
  /** The records in the gateway's own log at the end. */
  readonly log: readonly Given[];
  /** True instants of the takes, by boot and mono. */
  readonly taken: ReadonlyMap<string, number>;
}

/** Maximum number of records that are sent before a cursor moves. */
const UNDER_WAY = 64;
/** Interval at which cursors are saved, plus the time of a commit and a stop. */
const SAVED_MS = 11 * 60_000;

export function outputFaults(look: OutputLook): readonly string[] {
  return look.plant.sides.flatMap((side) =>
    look.boxes.flatMap((box, index) =>
      ofOne(look, { side, box, index }).map((fault) => `${side.output.name} of gateway ${index}: ${fault}`),
    ),
  );
}

interface One {
  readonly side: Side;
  readonly box: Box;
  readonly index: number;
}

function ofOne(look: OutputLook, { side, box, index }: One): readonly string[] {
  const events = side.broker.events.filter((event) => event.box === index);
  if (events.length === 0) return [];
  const isLast = index === look.boxes.length - 1;
  const { kind, payload } = side.output;
  const known = knownOf([...box.seen.given.values(), ...(isLast ? look.log : [])]);
  const again = kind === "sparkplug" ? new Set() : confirmations(events, (key) => known.byKey.get(key) ?? []);
  const end = isLast && kind !== "sparkplug" ? retainedFaults({ side, box, events, again }) : [];
  if (kind !== "sparkplug" && payload === "value") return end;
  const told = kind === "sparkplug" ? devicesTold(events) : plainTold(events.filter((event) => !again.has(event)));
  const passed = box.seen.passed.filter(({ output }) => output === side.output.name);
  return [
    ...(kind === "sparkplug" ? sparkplugFaults(events, side) : end),
    ...accountFaults(told, { known, passed, side, box, due: isLast ? look.due : null, taken: look.taken }),
  ];
}

/** All readings of that gateway's log that were ever observed, by position in the log. */
interface Known {
  /** Positions with a reading, in order. */
  readonly places: readonly number[];
  /** Possible positions of a message's reading. */
  readonly byKey: ReadonlyMap<string, readonly number[]>;
  readonly at: ReadonlyMap<number, Given>;
  /** The keys under which a position's reading may have been sent. Its time changes when the clock is confirmed. */
  readonly keysAt: ReadonlyMap<number, readonly string[]>;
}

/** More than a log has seqs. */
const NEXT_STREAM = 1e9;

function knownOf(all: readonly Given[]): Known {
  const streams = [...new Set(all.map(({ stream }) => stream))];
  const byKey = new Map<string, number[]>();
  const at = new Map<number, Given>();
  for (const one of all) {
    const place = streams.indexOf(one.stream) * NEXT_STREAM + one.seq;
    at.set(place, one);
    const key = keyOf(one);
    const places = byKey.get(key) ?? [];
    if (!places.includes(place))
      byKey.set(
        key,
        [...places, place].sort((a, b) => a - b),
      );
  }
  const keysAt = new Map<number, string[]>();
  for (const [key, places] of byKey) for (const place of places) keysAt.set(place, [...(keysAt.get(place) ?? []), key]);
  return { places: [...at.keys()].sort((a, b) => a - b), byKey, at, keysAt };
}

/** Returns readings in plain MQTT, without the present values that a session publishes first. */
function plainTold(events: readonly PlantEvent[]): readonly ToldReading[] {
  const begun = new Set<number>();
  return events.flatMap((event): readonly ToldReading[] => {
    if (event.kind !== "message") return [];
    const { topic, payload } = event.message;
    if (topic.endsWith("/status") && payload.toString() === "online") begun.add(event.session);
    const [, tag] = /^booths\/booth-1\/tags\/(.+)$/.exec(topic) ?? [];
    if (tag === undefined || !begun.has(event.session)) return [];
    const { value, time } = JSON.parse(payload.toString()) as { readonly value: unknown; readonly time: string };
    const key = keyOf({ tag, time: Date.parse(time), value: JSON.stringify(value) });
    return [{ at: event.at, session: event.session, key, is_history: null, born_at: null }];
  });
}

interface Account {
  readonly known: Known;
  readonly passed: Seen["passed"];
  readonly side: Side;
  readonly box: Box;
  /** null: nothing is due from a gateway that was removed. */
  readonly due: number | null;
  readonly taken: OutputLook["taken"];
}

/** Checks each era separately: an output that returns to the configuration starts from the beginning. */
function accountFaults(told: readonly ToldReading[], account: Account): readonly string[] {
  const { put_back } = account.side;
  const eraOf = ({ at }: { readonly at: number }): number => put_back.filter((back) => back <= at).length;
  return [...Map.groupBy(told, eraOf)].flatMap(([era, of]) => {
    const passed = account.passed.filter((one) => eraOf(one) === era);
    return eraFaults(of, { ...account, passed, due: era === put_back.length ? account.due : null });
  });
}

/**
 * Checks that readings arrive in order, that only those in transit are repeated, and that none is lost without a log
 * line.
 */
function eraFaults(told: readonly ToldReading[], account: Account): readonly string[] {
  const { known, passed } = account;
  const isPassed = (place: number): boolean =>
    passed.some(({ from, to }) => from <= place % NEXT_STREAM && place % NEXT_STREAM <= to);
  const faults: string[] = [];
  const first = new Map<number, ToldReading>();
  let session = 0;
  let last = 0;
  let most = 0;
  let lowest = Infinity;
  for (const one of told) {
    const isNew = one.session !== session;
    const places = known.byKey.get(one.key) ?? [];
    const next = places.filter((at) => at > (isNew ? most - UNDER_WAY : last));
    // If readings are equal, uses one that was not skipped.
    const place = next.find((at) => !isPassed(at)) ?? next[0] ?? places.at(-1);
    if (place === undefined) {
      faults.push(`${dateOf(one.at)} told what stands in no log: ${one.key}`);
      continue;
    }
    faults.push(...historyFaults(one, places, account));
    const again = first.get(place);
    if (!isNew && place <= last)
      faults.push(`${dateOf(one.at)} out of order: ${one.key} at ${String(place)} after ${String(last)}`);
    if (again !== undefined && !mayRepeat(account, { one, again, place, most }))
      faults.push(
        `${dateOf(one.at)} told again: ${one.key}, at ${String(place)} of ${String(most)}, first at ${dateOf(again.at)}`,
      );
    if (again !== undefined && one.is_history === false) faults.push(`${dateOf(one.at)} told again as new: ${one.key}`);
    if (again === undefined) first.set(place, one);
    [session, last, most, lowest] = [one.session, place, Math.max(most, place), Math.min(lowest, place)];
  }
  const times = Map.groupBy(told, ({ key }) => key);
  // While its clock is unconfirmed, a gateway's time may stand still. Equal readings can't be distinguished then, so
  // they are counted.
  const isAmongEqual = (place: number): boolean =>
    (known.keysAt.get(place) ?? []).some((key) => {
      const equal = known.byKey.get(key)?.length ?? 0;
      return equal > 1 && (times.get(key)?.length ?? 0) >= equal;
    });
  const lost = known.places.filter(
    (place) =>
      place >= lowest &&
      !first.has(place) &&
      !isPassed(place) &&
      !isAmongEqual(place) &&
      (place < most || isDue(known.at.get(place), account.due)),
  );
  return [...faults, ...lostText(lost, known), ...passedFaults(account, first)];
}

/** Extra time that a slow line adds between a birth and its arrival. */
const SLOW_MS = 25_000;

/** Checks that exactly the readings from before their device's birth are marked as history. */
function historyFaults(
  { is_history, born_at, key, at }: ToldReading,
  places: readonly number[],
  { known, taken }: Account,
): readonly string[] {
  if (born_at === null) return [];
  const read = places.flatMap((place) => {
    const { boot, mono } = known.at.get(place) ?? NONE;
    return [taken.get(`${boot} ${mono}`)].filter((found) => found !== undefined);
  });
  const isSo = (when: number): boolean => (is_history === true ? when < born_at + SLOW_MS : when > born_at - SLOW_MS);
  if (read.length === 0 || read.some(isSo)) return [];
  return [
    `${dateOf(at)} ${is_history === true ? "is" : "isn't"} marked as history: ${key}, born at ${dateOf(born_at)}`,
  ];
}

function lostText(lost: readonly number[], { at, places }: Known): readonly string[] {
  const names = lost.slice(0, 3).map((place) => `${String(place)} ${keyOf(at.get(place) ?? NONE)}`);
  return lost.length === 0
    ? []
    : [`${String(lost.length)} of ${String(places.length)} readings weren't told: ${names.join("; ")}`];
}

/**
 * Checks that records reported as skipped weren't sent, except those in transit, and after a power cut those since the
 * cursor was last saved.
 */
function passedFaults({ passed, box, known }: Account, first: ReadonlyMap<number, ToldReading>): readonly string[] {
  return passed.flatMap(({ from, to }) => {
    const told = known.places.filter((place) => from <= place && place <= to && first.has(place));
    const wrong = told.filter((place) => {
      const at = first.get(place)?.at ?? 0;
      return place >= from + UNDER_WAY && !box.seen.cuts.some((cut) => at <= cut && cut - at <= SAVED_MS);
    });
    return wrong.length === 0
      ? []
      : [`told as passed over, and was told: ${String(wrong[0])} of ${String(from)} to ${String(to)}`];
  });
}

const NONE: Given = { stream: "", seq: 0, tag: "", time: 0, value: "", boot: "", mono: 0 };

function isDue(reading: Given | undefined, due: number | null): boolean {
  return reading !== undefined && due !== null && reading.time <= due;
}

interface Again {
  readonly one: ToldReading;
  readonly again: ToldReading;
  readonly place: number;
  /** The highest position sent so far. */
  readonly most: number;
}

function mayRepeat({ box }: Account, { one, again, place, most }: Again): boolean {
  if (place > most - UNDER_WAY) return true;
  return box.seen.cuts.some((at) => again.at <= at && at <= one.at && at - again.at <= SAVED_MS);
}

function dateOf(at: number): string {
  return new Date(at).toISOString();
}

interface Ended {
  readonly side: Side;
  readonly box: Box;
  readonly events: readonly PlantEvent[];
  /** Messages that publish the present values again. */
  readonly again: ReadonlySet<unknown>;
}

/** Checks that the retained messages are the last values. */
function retainedFaults({ side, box, events, again }: Ended): readonly string[] {
  const { retained } = side.broker;
  const faults: string[] = [];
  const status = [...retained].filter(([topic]) => topic.endsWith("/status")).map(([, payload]) => payload.toString());
  if (!status.includes("offline") || status.includes("online"))
    faults.push(`the last word of its state is ${status.join()}`);
  for (const [tag, { value, time }] of lastOf(box)) {
    const topic = `booths/booth-1/tags/${tag}`;
    const kept = retained.get(topic)?.toString();
    // A bare value can't express that it is unknown.
    if (side.output.payload === "value" && value === "null") continue;
    if (kept === undefined) faults.push(`nothing is kept of ${tag}, which is ${value}`);
    else if (!isKept(side, kept, value) && !isOfThePresent({ events, again }, topic, time))
      faults.push(`${tag} is kept as ${kept}, and is ${value}`);
  }
  for (const last of box.seen.stopped) {
    const { figure, value, sort } = last;
    if (sort === "minutes" || value === null) continue;
    const kept = retained.get(`booths/booth-1/figures/${figure}`)?.toString();
    const asItWas = growsWithTime(last) ? box.seen.before.filter((before) => before.figure === figure) : [];
    const isSame =
      kept !== undefined && [last, ...asItWas].some((one) => isKept(side, kept, JSON.stringify(one.value)));
    if (!isSame) faults.push(`figure ${figure} is kept as ${String(kept)}, and is ${String(value)}`);
  }
  return [...faults, ...discoveryFaults(side, events)];
}

/** Whether a figure changes with each commit and is sent once a minute. All others are sent at once. */
function growsWithTime({ figure, sort }: Figure): boolean {
  return figure === "last_good_at" || sort === "hours" || sort === "percent";
}

/** Returns the last value of each tag in the log. */
function lastOf(box: Box): ReadonlyMap<string, Given> {
  const { places, at } = knownOf([...box.seen.given.values()]);
  return new Map(
    places.flatMap((place) => [at.get(place)]).flatMap((one) => (one === undefined ? [] : [[one.tag, one]])),
  );
}

/**
 * Whether a message is part of a session's first messages, or of those after the clock's confirmation. These publish
 * the last reading, even if it isn't logged.
 */
function isOfThePresent({ events, again }: Pick<Ended, "events" | "again">, topic: string, after: number): boolean {
  const at = events.findLastIndex((event) => event.kind === "message" && event.message.topic === topic);
  const last = events[at];
  const begun = events.findIndex(
    (event) =>
      event.session === last?.session &&
      event.kind === "message" &&
      event.message.topic.endsWith("/status") &&
      event.message.payload.toString() === "online",
  );
  return last !== undefined && (at < begun || again.has(last)) && last.at >= after - CLOCK_MS;
}

/** Allowed error of a clock. */
const CLOCK_MS = 4_000;

/** Whether the broker retained the value. `value` is JSON. */
function isKept({ output }: Side, kept: string, value: string): boolean {
  if (output.payload === "value") return kept === String(JSON.parse(value));
  return JSON.stringify((JSON.parse(kept) as { readonly value: unknown }).value) === value;
}

/**
 * Checks that the announced entities are those of the last session that announced any, and that no entity is left if
 * discovery is off.
 */
function discoveryFaults(side: Side, events: readonly PlantEvent[]): readonly string[] {
  const own = new Set(events.flatMap((event) => (event.kind === "message" ? [event.message.topic] : [])));
  const kept = [...side.broker.retained.keys()].filter((topic) => topic.startsWith("homeassistant/") && own.has(topic));
  const isWanted = configOf(side).mqtt?.home_assistant !== undefined;
  if (!isWanted)
    return kept.length > 0 ? [`${String(kept.length)} entities are still announced: ${kept.slice(0, 2).join()}`] : [];
  if (kept.length === 0) return ["no entity is announced"];
  const session = events.at(-1)?.session;
  const told = new Set(
    events.flatMap((event) =>
      event.kind === "message" && event.session === session && event.message.payload.length > 0
        ? [event.message.topic]
        : [],
    ),
  );
  const stale = kept.filter((topic) => !told.has(topic));
  return stale.length > 0 ? [`entities that nobody announces any more: ${stale.slice(0, 3).join()}`] : [];
}
