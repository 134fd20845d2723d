import { type Text, message } from "./message.ts";
import { type DayNumber, daysFromCivil, utcText } from "./time-zone.ts";
import type { EpochMs, Milliseconds } from "./units.ts";
import { MINUTE_MS } from "./time.ts";

/**
 * Purposes of network traffic. Traffic is counted at the sockets, stored by day and month, and compared with a monthly budget.
 * - readings: batches and their acks
 * - heartbeats: the state and pings
 * - session: connecting, subscriptions, commands
 * - http: binding, reports, comparisons
 * - outputs: all other peers
 */
export const PURPOSES = ["readings", "heartbeats", "session", "http", "outputs"] as const;
export type Purpose = (typeof PURPOSES)[number];

/** Numbers of bytes sent (up) and received (down). */
export interface Bytes {
  readonly up: number;
  readonly down: number;
}

export type Traffic = Readonly<Record<Purpose, Bytes>>;

/** A connection's byte counts on the wire since it was opened, including TLS. They can still be read after the connection is closed. */
export interface CountedSocket {
  readonly bytesRead: number;
  readonly bytesWritten: number;
  readonly remoteAddress?: string | undefined;
  once(event: "close", closed: () => void): unknown;
}

/**
 * Returns how many bytes of a connection's content belonged to each purpose since the last call. The connection's total is split
 * accordingly.
 */
export type SharedOut = () => Readonly<Partial<Record<Purpose, Bytes>>>;

export interface Meter {
  /** Counts the connection's bytes until it is closed. Returns a function that books the bytes counted so far. */
  count(socket: CountedSocket, purpose: Purpose | SharedOut): () => void;
}

/** Traffic of a period. `metered`: the bytes in both directions that count against the budget. */
export interface Period {
  readonly traffic: Traffic;
  readonly metered: number;
  /** Number of power cuts. Each one lost the bytes counted since the last saving. */
  readonly cuts: number;
}

/** Traffic by day (2026-11-25) and month (2026-11), in UTC. */
export interface TrafficAccount {
  readonly days: Readonly<Record<string, Period>>;
  readonly months: Readonly<Record<string, Period>>;
}

const NONE: Bytes = { up: 0, down: 0 };
export const NO_TRAFFIC: Traffic = {
  readings: NONE,
  heartbeats: NONE,
  session: NONE,
  http: NONE,
  outputs: NONE,
};
export const EMPTY_PERIOD: Period = { traffic: NO_TRAFFIC, metered: 0, cuts: 0 };
export const EMPTY_ACCOUNT: TrafficAccount = { days: {}, months: {} };

/** Number of days kept. A month's bill arrives weeks later, and questions about it concern single days. */
const KEPT_DAYS = 40;
const KEPT_MONTHS = 13;

export function monthOf(day: string): string {
  return day.slice(0, 7);
}

/** Returns the day of an instant in UTC. */
export function dayNamed(at: EpochMs): string {
  return utcText(at).slice(0, 10);
}

/**
 * Returns the day to book traffic on. If the clock isn't confirmed, returns the newest booked day, because a wrong clock after a power cut
 * must not start a new month.
 */
export function bookingDay({ days }: TrafficAccount, at: EpochMs, is_vouched: boolean): string {
  const newest = Object.keys(days).sort().at(-1);
  return is_vouched || newest === undefined ? dayNamed(at) : newest;
}

/** Adds traffic to the account on the given day. */
export function booked(account: TrafficAccount, day: string, more: Period): TrafficAccount {
  const month = monthOf(day);
  return {
    days: nearest({ ...account.days, [day]: sum(account.days[day], more) }, day, KEPT_DAYS),
    months: nearest({ ...account.months, [month]: sum(account.months[month], more) }, month, KEPT_MONTHS),
  };
}

function sum(one: Period = EMPTY_PERIOD, other: Period): Period {
  return {
    traffic: added(one.traffic, other.traffic),
    metered: one.metered + other.metered,
    cuts: one.cuts + other.cuts,
  };
}

/** Makes an account that holds the bytes for each purpose. */
export function byPurpose(of: (purpose: Purpose) => Bytes): Traffic {
  const readings = of("readings");
  const heartbeats = of("heartbeats");
  const session = of("session");
  return { readings, heartbeats, session, http: of("http"), outputs: of("outputs") };
}

export function added(one: Traffic, other: Traffic): Traffic {
  const both = (purpose: Purpose): Bytes => ({
    up: one[purpose].up + other[purpose].up,
    down: one[purpose].down + other[purpose].down,
  });
  return byPurpose(both);
}

/** Keeps the periods that are nearest to `now`, so that periods from a clock that was years ahead don't replace the present ones. */
function nearest(periods: Readonly<Record<string, Period>>, now: string, most: number): Record<string, Period> {
  const distance = (name: string): number => Math.abs(numberOf(name) - numberOf(now));
  const names = Object.keys(periods).sort((one, other) => distance(one) - distance(other));
  const kept = names.slice(0, most).sort();
  return Object.fromEntries(kept.flatMap((name) => (periods[name] === undefined ? [] : [[name, periods[name]]])));
}

/** Returns the first day of a period, counted since 1970. */
function numberOf(period: string): DayNumber {
  const [year = 1970, month = 1, day = 1] = period.split("-").map(Number);
  return daysFromCivil(year, month, day);
}

/** Returns the bytes of all purposes together. */
export function allOf(traffic: Traffic): Bytes {
  const sums = (direction: keyof Bytes): number =>
    PURPOSES.reduce((so_far, purpose) => so_far + traffic[purpose][direction], 0);
  return { up: sums("up"), down: sums("down") };
}

/** Steps of saving traffic, each in addition to the earlier steps. A change of mode is sent immediately in every step. */
export const THRIFT_STEPS = ["none", "heartbeats", "batches", "backlog", "mode_changes"] as const;
export type ThriftStep = (typeof THRIFT_STEPS)[number];

export interface Thrift {
  readonly step: ThriftStep;
  /** Shortest time between two heartbeats if no news must be sent. */
  readonly heartbeat_ms: Milliseconds;
  /** Time for which readings are collected into one batch. A change of mode is sent earlier. */
  readonly hold_ms: Milliseconds;
  /** Whether the backlog of an outage is sent only at night. */
  readonly by_night: boolean;
}

/** Interval of heartbeats while saving. The service shows a gateway as offline after 120 s without a message. */
const SLOW_HEARTBEAT_MS: Milliseconds = 110_000;
/** The steps of saving, each with the used share of the budget from which it applies. */
const STEPS: readonly (Thrift & { readonly from: number })[] = [
  { from: 0, step: "none", heartbeat_ms: 0, hold_ms: 0, by_night: false },
  { from: 0.7, step: "heartbeats", heartbeat_ms: SLOW_HEARTBEAT_MS, hold_ms: 0, by_night: false },
  { from: 0.8, step: "batches", heartbeat_ms: SLOW_HEARTBEAT_MS, hold_ms: 10 * MINUTE_MS, by_night: false },
  { from: 0.9, step: "backlog", heartbeat_ms: SLOW_HEARTBEAT_MS, hold_ms: 10 * MINUTE_MS, by_night: true },
  { from: 1, step: "mode_changes", heartbeat_ms: SLOW_HEARTBEAT_MS, hold_ms: 6 * 60 * MINUTE_MS, by_night: true },
];
export const NO_THRIFT: Thrift = { step: "none", heartbeat_ms: 0, hold_ms: 0, by_night: false };

/** Returns the step of saving for this use of the budget. `budget_bytes` null: there is no budget. */
export function thriftFor(metered: number, budget_bytes: number | null): Thrift {
  if (budget_bytes === null) return NO_THRIFT;
  const share = metered / budget_bytes;
  const reached = STEPS.findLast(({ from }) => share >= from);
  if (reached === undefined) return NO_THRIFT;
  const { step, heartbeat_ms, hold_ms, by_night } = reached;
  return { step, heartbeat_ms, hold_ms, by_night };
}

/** The counted traffic, as people see it. */
export interface TrafficStatus {
  /** Day in UTC, such as 2026-11-25. */
  readonly day: string;
  readonly today: Period;
  readonly month: Period;
  /** Traffic since the agent's start. */
  readonly since_start: Traffic;
  /** Budget of the month in bytes; null: there is no budget. */
  readonly budget_bytes: number | null;
  readonly step: ThriftStep;
  /** Index of `step` in THRIFT_STEPS; 0: no traffic is reduced. */
  readonly thrift: number;
  /** Which traffic is reduced for the budget, and why; "": no traffic is reduced. */
  readonly reason: Text;
  readonly advice: Text;
}

const MB = 1e6;

export function megabytes(bytes: number): string {
  return (bytes / MB).toFixed(bytes < 10 * MB ? 2 : 0);
}

/** Returns the status of a traffic account, for people. */
export function trafficStatus(
  account: TrafficAccount,
  { day, budget_bytes, since_start }: Pick<TrafficStatus, "day" | "budget_bytes" | "since_start">,
): TrafficStatus {
  const today = account.days[day] ?? EMPTY_PERIOD;
  const month = account.months[monthOf(day)] ?? EMPTY_PERIOD;
  const { step } = thriftFor(month.metered, budget_bytes);
  const common = { day, today, month, since_start, budget_bytes, step, thrift: THRIFT_STEPS.indexOf(step) };
  if (step === "none" || budget_bytes === null) return { ...common, reason: "", advice: "" };
  const used = { used: megabytes(month.metered), budget: megabytes(budget_bytes) };
  return { ...common, reason: message(`traffic.${step}`, used), advice: message("traffic.todo") };
}

/** Returns whether a peer's address is one that no provider bills: this machine, private networks, link-local. */
export function isOwnNetwork(address: string | undefined): boolean {
  if (address === undefined) return false;
  const plain = address.toLowerCase().replace(/^::ffff:(?=[0-9.]+$)/, "");
  return (
    /^(127|10|169\.254|192\.168|172\.(1[6-9]|2\d|3[01]))\./.test(plain) ||
    plain === "::1" ||
    /^f([cd]|e[89ab])/.test(plain)
  );
}
