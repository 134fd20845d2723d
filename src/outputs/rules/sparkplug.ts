import type { LiveReading } from "../../domain/agent-control.ts";
import type { Quality, TagValue } from "../../domain/booth.ts";
import { jsonOf } from "../../domain/json.ts";
import { KIND, type Placed } from "../../domain/record.ts";
import type { BoothId, BootId, EpochMs, Milliseconds, TagName } from "../../domain/units.ts";
import type { Figure } from "./figures.ts";

/**
 * Sparkplug B 3.0 (Eclipse Foundation, 2022): what an edge node says. The gateway is the edge node, each booth a device of it. Births name every
 * metric with its type and an alias; data goes by alias.
 */

/** Types of metrics that we use, by their numbers in the specification (6.4.16). */
export const DATATYPE = { double: 10, boolean: 11, string: 12, int64: 4 } as const;
export type Datatype = (typeof DATATYPE)[keyof typeof DATATYPE];

export interface Metric {
  /** In births; absent in data, which goes by alias. */
  readonly name?: string;
  readonly alias?: number;
  readonly timestamp: EpochMs;
  readonly datatype: Datatype;
  /** null: not known. */
  readonly value: number | boolean | string | null;
  /** It was read before this session: it says nothing of the present. */
  readonly is_historical: boolean;
  /** Sparkplug's own: 192 good, 0 bad. Absent: good. */
  readonly quality?: number;
  readonly unit?: string;
}

/** Sparkplug knows no third one: what the gateway isn't sure of is marked as stale. */
const QUALITY: Readonly<Record<Quality, number>> = { good: 192, uncertain: 500, bad: 0 };

const CLOCK_CONFIRMED = "Clock/Confirmed";
const REBIRTH = "Node Control/Rebirth";
const BD_SEQ = "bdSeq";
/** seq and bdSeq go from 0 to 255 and begin anew. */
export const SEQ_MODULUS = 256;

/** A device's metric as its birth named it. */
interface Born {
  readonly alias: number;
  readonly datatype: Datatype;
}

/** The metrics of a device as they were born, by name. */
export type Births = ReadonlyMap<string, Born>;

function tagMetric(tag: TagName): string {
  return `Tags/${tag}`;
}

function figureMetric(figure: string): string {
  return `Figures/${figure}`;
}

/** What a device says of one name at an instant. */
export interface Said {
  readonly name: string;
  readonly value: TagValue;
  readonly at: EpochMs;
  readonly quality: Quality;
  readonly unit: string;
  /** Of a reading: when it was taken, by a clock that nobody moves. */
  readonly read_at?: Instant;
}

/** An instant by the kernel's own count. */
export interface Instant {
  readonly boot: BootId;
  readonly mono: Milliseconds;
}

/** The type that a value shows; null: none. Whole numbers beyond 2^53 come as texts. */
function datatypeOf(value: TagValue): Datatype | null {
  if (value === null) return null;
  if (typeof value === "number") return DATATYPE.double;
  return typeof value === "boolean" ? DATATYPE.boolean : DATATYPE.string;
}

/** The booth at an instant. */
interface Present {
  readonly readings: readonly LiveReading[];
  readonly figures: readonly Figure[];
  readonly at: EpochMs;
  readonly is_confirmed: boolean;
}

/** The present value of every metric of a booth, for its birth. A `wanted` metric without a present value is null. */
export function presentSaid(booth: Present, wanted: readonly Said[]): readonly Said[] {
  const { readings, figures, at, is_confirmed } = booth;
  const tags = readings.map(({ tag, value, quality, unit, age_ms }): Said => {
    return { name: tagMetric(tag), value, at: at - (age_ms ?? 0), quality: quality ?? "bad", unit };
  });
  const known = [...tags, ...figuresSaid(figures, at), clockSaid(is_confirmed, at)];
  const names = new Set(known.map(({ name }) => name));
  const others = wanted.filter(({ name }) => !names.has(name));
  return [...known, ...others.map((one): Said => ({ ...one, value: null, at, quality: "bad" }))];
}

/** The metric that says whether the gateway's clock is confirmed. Quality stays 192, so that hosts show live values. */
export function clockSaid(is_confirmed: boolean, at: EpochMs): Said {
  return { name: CLOCK_CONFIRMED, value: is_confirmed, at, quality: "good", unit: "" };
}

export function figuresSaid(figures: readonly Figure[], at: EpochMs): readonly Said[] {
  return figures.map(({ figure, value, unit }) => {
    return { name: figureMetric(figure), value, at, quality: value === null ? "bad" : "good", unit };
  });
}

/**
 * Names, types and aliases for a birth. A metric has the type of what is about to be said of it, else of what it says now, else the one that it
 * had before; one that never said anything is born as a number.
 */
export function birthsOf(
  said: readonly Said[],
  {
    first,
    before,
    wanted,
  }: { readonly first: number; readonly before: Births | undefined; readonly wanted: readonly Said[] },
): Births {
  const asked = new Map(wanted.map(({ name, value }) => [name, datatypeOf(value)]));
  return new Map(
    said.map(({ name, value }, index) => {
      const known = asked.get(name) ?? datatypeOf(value) ?? before?.get(name)?.datatype;
      return [name, { alias: first + index, datatype: known ?? DATATYPE.double }] as const;
    }),
  );
}

/** The metrics of a birth. */
export function birthMetrics(said: readonly Said[], births: Births): readonly Metric[] {
  return said.flatMap((one) => {
    const born = births.get(one.name);
    if (born === undefined) return [];
    const fits = datatypeOf(one.value) === born.datatype;
    const now: Said = fits ? one : { ...one, value: null, quality: "bad" };
    return [{ name: one.name, ...metricOf(now, born, false), ...(one.unit === "" ? {} : { unit: one.unit }) }];
  });
}

/** Metrics of data, without those that the birth didn't name, or gave another type. `born`: what was taken before is history. */
export function dataMetrics(said: readonly Said[], births: Births, born: Instant): readonly Metric[] {
  return said.flatMap((one) => {
    const metric = births.get(one.name);
    const datatype = datatypeOf(one.value);
    if (metric === undefined || (datatype !== null && datatype !== metric.datatype)) return [];
    return [metricOf(one, metric, isHistory(one, born))];
  });
}

/** Not by the wall clock, which may have stood a day ahead at the birth. */
function isHistory({ read_at }: Said, born: Instant): boolean {
  return read_at !== undefined && (read_at.boot !== born.boot || read_at.mono < born.mono);
}

function metricOf({ value, at, quality }: Said, { alias, datatype }: Born, is_historical: boolean): Metric {
  return {
    alias,
    timestamp: at,
    datatype,
    value,
    is_historical,
    ...(quality === "good" ? {} : { quality: QUALITY[quality] }),
  };
}

/** The edge node's own metrics; the first is all that its death has. */
export function nodeMetrics(bd_seq: number, at: EpochMs): readonly Metric[] {
  return [
    { name: BD_SEQ, timestamp: at, datatype: DATATYPE.int64, value: bd_seq, is_historical: false },
    { name: REBIRTH, timestamp: at, datatype: DATATYPE.boolean, value: false, is_historical: false },
  ];
}

/** Nothing but a rebirth, that is: what sets something beside it is meant for another node. */
export function asksRebirth(commands: readonly { readonly name: string; readonly value: boolean | null }[]): boolean {
  return commands.length === 1 && commands[0]?.name === REBIRTH && commands[0].value === true;
}

/** Readings among the records, in their order, those of one instant together. */
export function instantsOf(records: readonly Placed[]): readonly (readonly Said[])[] {
  const instants: Said[][] = [];
  for (const record of records) {
    if (record.kind !== KIND.reading) continue;
    const said = {
      name: tagMetric(record.tag),
      value: record.value,
      at: record.time,
      quality: record.quality,
      unit: "",
      read_at: { boot: record.boot, mono: record.mono },
    };
    const last = instants.at(-1);
    // Before the clock is confirmed two instants may have the same time.
    const isSame = last?.[0]?.at === said.at && last[0].read_at?.mono === record.mono;
    if (isSame) last.push(said);
    else instants.push([said]);
  }
  return instants;
}

/** Topics of namespace spBv1.0 (chapter 4). */
export function topicsOf(group: string, node: string) {
  const of = (type: string, device?: BoothId): string =>
    ["spBv1.0", group, type, node, ...(device === undefined ? [] : [device])].join("/");
  return {
    node_birth: of("NBIRTH"),
    node_death: of("NDEATH"),
    node_command: of("NCMD"),
    device_command: (device: BoothId) => of("DCMD", device),
    device_birth: (device: BoothId) => of("DBIRTH", device),
    device_death: (device: BoothId) => of("DDEATH", device),
    device_data: (device: BoothId) => of("DDATA", device),
  };
}

export function hostTopic(host: string): string {
  return `spBv1.0/STATE/${host}`;
}

/** Where a host application of version 2.2 publishes its state. */
export function hostTopic22(host: string): string {
  return `STATE/${host}`;
}

/** The host id in a topic of either version; null: it is another topic. */
export function hostIn(topic: string): string | null {
  return /^(?:spBv1\.0\/)?STATE\/([^/]+)$/.exec(topic)?.[1] ?? null;
}

/** A state of a host application. `timestamp` null: version 2.2 has none. */
export interface HostState {
  readonly online: boolean;
  readonly timestamp: EpochMs | null;
}

/** Reads a state: JSON, or the text of version 2.2. Returns null if it is neither. */
export function hostStateOf(payload: string): HostState | null {
  if (payload === "ONLINE" || payload === "OFFLINE") return { online: payload === "ONLINE", timestamp: null };
  const said = jsonOf(payload) as { online?: unknown; timestamp?: unknown } | null | undefined;
  if (typeof said?.online !== "boolean" || typeof said.timestamp !== "number") return null;
  return { online: said.online, timestamp: said.timestamp };
}

/** The clocks of host and gateway may differ by this much. */
const CLOCKS_DIFFER_MS: Milliseconds = 60_000;

/**
 * Whether a state is older than the last one, which the broker may deliver late. A last state that is dated in the future doesn't count: it
 * would lock out all later ones.
 */
export function isOlderState(last: HostState | null, state: HostState, now: EpochMs): boolean {
  if (last === null || last.timestamp === null || state.timestamp === null) return false;
  return state.timestamp < last.timestamp && last.timestamp <= now + CLOCKS_DIFFER_MS;
}
