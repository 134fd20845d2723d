import type { LiveReading } from "../../domain/agent-control.ts";
import type { Quality, TagValue } from "../../domain/booth.ts";
import { jsonOf } from "../../domain/json.ts";
import { KIND, type Placed } from "../../domain/record.ts";
import { MINUTE_MS } from "../../domain/time.ts";
import type { BoothId, BootId, EpochMs, Milliseconds, TagName } from "../../domain/units.ts";
import type { Figure } from "./figures.ts";

/**
 * This module makes the messages of a Sparkplug B 3.0 edge node (Eclipse Foundation, 2022). The gateway is the edge node, and each booth is
 * a device of it. A birth message names every metric with its type and a numeric alias. A data message refers to metrics by alias.
 */

/** The data types of metrics, by their numbers in the specification (6.4.16). */
export const DATATYPE = { double: 10, boolean: 11, string: 12, int64: 4 } as const;
export type Datatype = (typeof DATATYPE)[keyof typeof DATATYPE];

export interface Metric {
  /** The metric's name; only in birth messages. */
  readonly name?: string;
  readonly alias?: number;
  readonly timestamp: EpochMs;
  readonly datatype: Datatype;
  /** The value; null if it is unknown. */
  readonly value: number | boolean | string | null;
  /** True if the value was read before this session and is therefore not the current value. */
  readonly is_historical: boolean;
  /** Sparkplug's quality code: 500 stale, 0 bad. Absent: good. */
  readonly quality?: number;
  readonly unit?: string;
}

/** Sparkplug's codes of our qualities. Sparkplug has no "uncertain"; stale is the nearest. */
const QUALITY: Readonly<Record<Quality, number>> = { good: 192, uncertain: 500, bad: 0 };

const CLOCK_CONFIRMED = "Clock/Confirmed";
const REBIRTH = "Node Control/Rebirth";
const BD_SEQ = "bdSeq";
/** The number of values of seq and bdSeq, which count from 0 to 255 and start again. */
export const SEQ_MODULUS = 256;

/** The metrics of a device by name, as its birth message declared them. */
export type Births = ReadonlyMap<string, { readonly alias: number; readonly datatype: Datatype }>;

function tagMetric(tag: TagName): string {
  return `Tags/${tag}`;
}

/** The value of a device's metric at an instant. */
export interface MetricValue {
  readonly name: string;
  readonly value: TagValue;
  readonly at: EpochMs;
  readonly quality: Quality;
  readonly unit: string;
  /** The time when the reading was taken, by the monotonic clock. */
  readonly read_at?: Instant;
}

/** An instant of the monotonic clock. */
export interface Instant {
  readonly boot: BootId;
  readonly mono: Milliseconds;
}

/** Returns the type of a value; null for an unknown value. Integers beyond 2^53 are strings. */
function datatypeOf(value: TagValue): Datatype | null {
  if (value === null) return null;
  if (typeof value === "number") return DATATYPE.double;
  return typeof value === "boolean" ? DATATYPE.boolean : DATATYPE.string;
}

/** The values of a booth at an instant. */
interface Present {
  readonly readings: readonly LiveReading[];
  readonly figures: readonly Figure[];
  readonly at: EpochMs;
  readonly is_confirmed: boolean;
}

/** Returns the present value of each metric of a booth, for its birth message. A `wanted` metric without a present value gets null. */
export function presentValues(booth: Present, wanted: readonly MetricValue[]): readonly MetricValue[] {
  const { readings, figures, at, is_confirmed } = booth;
  const tags = readings.map(({ tag, value, quality, unit, age_ms }): MetricValue => {
    return { name: tagMetric(tag), value, at: at - (age_ms ?? 0), quality: quality ?? "bad", unit };
  });
  const known = [...tags, ...figureValues(figures, at), clockValue(is_confirmed, at)];
  const names = new Set(known.map(({ name }) => name));
  const others = wanted.filter(({ name }) => !names.has(name));
  return [...known, ...others.map((one): MetricValue => ({ ...one, value: null, at, quality: "bad" }))];
}

/** Returns the metric that says whether the clock is confirmed. Its quality stays 192 (good), so that hosts show live values. */
export function clockValue(is_confirmed: boolean, at: EpochMs): MetricValue {
  return { name: CLOCK_CONFIRMED, value: is_confirmed, at, quality: "good", unit: "" };
}

export function figureValues(figures: readonly Figure[], at: EpochMs): readonly MetricValue[] {
  return figures.map(({ figure, value, unit }) => {
    return { name: `Figures/${figure}`, value, at, quality: value === null ? "bad" : "good", unit };
  });
}

/**
 * Returns names, types and aliases for a birth message. A metric's type is that of the first known of these: the value about to be sent
 * (`wanted`), the present value, the last birth. Otherwise the type is a number. `first` is the first free alias.
 */
export function birthsOf(
  values: readonly MetricValue[],
  last: { readonly first: number; readonly before: Births | undefined; readonly wanted: readonly MetricValue[] },
): Births {
  const wanted = new Map(last.wanted.map(({ name, value }) => [name, datatypeOf(value)]));
  return new Map(
    values.map(({ name, value }, index) => {
      const datatype = wanted.get(name) ?? datatypeOf(value) ?? last.before?.get(name)?.datatype ?? DATATYPE.double;
      return [name, { alias: last.first + index, datatype }];
    }),
  );
}

/** Returns the metrics of a birth message. */
export function birthMetrics(values: readonly MetricValue[], births: Births): readonly Metric[] {
  return values.flatMap((one) => {
    const born = births.get(one.name);
    if (born === undefined) return [];
    const fits = datatypeOf(one.value) === born.datatype;
    const now: MetricValue = fits ? one : { ...one, value: null, quality: "bad" };
    const metric = { name: one.name, ...born, ...valueOf(now), is_historical: false };
    return [one.unit === "" ? metric : { ...metric, unit: one.unit }];
  });
}

/**
 * Returns the metrics of a data message. Leaves out metrics that the birth did not name, or named with another type. Readings taken before
 * `born` are historical. The monotonic clock decides this, because the wall clock may have been wrong at the birth.
 */
export function dataMetrics(values: readonly MetricValue[], births: Births, born: Instant): readonly Metric[] {
  return values.flatMap((one) => {
    const named = births.get(one.name);
    const datatype = datatypeOf(one.value);
    if (named === undefined || (datatype !== null && datatype !== named.datatype)) return [];
    const { read_at } = one;
    const is_historical = read_at !== undefined && (read_at.boot !== born.boot || read_at.mono < born.mono);
    return [{ ...named, ...valueOf(one), is_historical }];
  });
}

function valueOf({ value, at: timestamp, quality }: MetricValue): Pick<Metric, "timestamp" | "value" | "quality"> {
  return quality === "good" ? { timestamp, value } : { timestamp, value, quality: QUALITY[quality] };
}

/** Returns the edge node's own metrics. Its death message has only the first metric. */
export function nodeMetrics(bd_seq: number, timestamp: EpochMs): readonly Metric[] {
  return [
    { name: BD_SEQ, timestamp, datatype: DATATYPE.int64, value: bd_seq, is_historical: false },
    { name: REBIRTH, timestamp, datatype: DATATYPE.boolean, value: false, is_historical: false },
  ];
}

/** Returns whether a command asks for a rebirth and nothing else. A command that sets more is meant for another node. */
export function asksRebirth(commands: readonly { readonly name: string; readonly value: boolean | null }[]): boolean {
  return commands.length === 1 && commands[0]?.name === REBIRTH && commands[0].value === true;
}

/** Returns the readings among the records in their order, grouped by instant. */
export function instantsOf(records: readonly Placed[]): readonly (readonly MetricValue[])[] {
  const instants: MetricValue[][] = [];
  for (const record of records) {
    if (record.kind !== KIND.reading) continue;
    const { tag, value, time: at, quality, boot, mono } = record;
    const reading = { name: tagMetric(tag), value, at, quality, unit: "", read_at: { boot, mono } };
    const last = instants.at(-1);
    // Compares the monotonic time too, because two instants may have the same time while the clock is unconfirmed.
    if (last?.[0]?.at === at && last[0].read_at?.mono === mono) last.push(reading);
    else instants.push([reading]);
  }
  return instants;
}

/** Returns a node's topics in the namespace spBv1.0 (chapter 4). */
export function topicsOf(group: string, node: string) {
  const ofNode = (type: string): string => `spBv1.0/${group}/${type}/${node}`;
  const ofDevice =
    (type: string) =>
    (device: BoothId): string =>
      `${ofNode(type)}/${device}`;
  return {
    node_birth: ofNode("NBIRTH"),
    node_death: ofNode("NDEATH"),
    node_command: ofNode("NCMD"),
    device_command: ofDevice("DCMD"),
    device_birth: ofDevice("DBIRTH"),
    device_death: ofDevice("DDEATH"),
    device_data: ofDevice("DDATA"),
  };
}

export function hostTopic(host: string): string {
  return `spBv1.0/STATE/${host}`;
}

/** Returns the topic of a host's state in Sparkplug 2.2. */
export function hostTopic22(host: string): string {
  return `STATE/${host}`;
}

/** Returns the host id in a state topic of either Sparkplug version; null for other topics. */
export function hostIn(topic: string): string | null {
  return /^(?:spBv1\.0\/)?STATE\/([^/]+)$/.exec(topic)?.[1] ?? null;
}

/** The state of a host application. `timestamp` is null in Sparkplug 2.2, which has no time stamps. */
export interface HostState {
  readonly online: boolean;
  readonly timestamp: EpochMs | null;
}

/** Reads a host's state: JSON, or the text of Sparkplug 2.2. Returns null for any other text. */
export function hostStateOf(payload: string): HostState | null {
  if (payload === "ONLINE" || payload === "OFFLINE") return { online: payload === "ONLINE", timestamp: null };
  const { online, timestamp } = (jsonOf(payload) ?? {}) as { readonly online?: unknown; readonly timestamp?: unknown };
  return typeof online === "boolean" && typeof timestamp === "number" ? { online, timestamp } : null;
}

/** The accepted difference between the clocks of host and gateway. */
const CLOCKS_DIFFER_MS: Milliseconds = MINUTE_MS;

/**
 * Returns whether a state is older than the last one, because a broker may deliver an old state late. Ignores a last state from the future,
 * which would block all later states.
 */
export function isOlderState(last: HostState | null, state: HostState, now: EpochMs): boolean {
  if (last === null || last.timestamp === null || state.timestamp === null) return false;
  return state.timestamp < last.timestamp && last.timestamp <= now + CLOCKS_DIFFER_MS;
}
