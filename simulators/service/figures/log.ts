import type { FilterType } from "../../../src/domain/booth.ts";
import type { Parameters, TagParameters, TagRole } from "../../../src/domain/parameters.ts";
import { type Db, inSnapshot, rows } from "../storage/db.ts";
import { heldUpTo, recordsOf, type StoredRecord, type StreamKey } from "../ingest/records.ts";

/** A tag's reading at its corrected time. */
export interface Sample {
  readonly time: number;
  readonly boot: string;
  readonly mono: number;
  readonly value: number | string | boolean | null;
  readonly good: boolean;
}

/** Answered polls of one group, corrected time, inclusive at both ends. */
export interface Cover {
  readonly from: number;
  readonly to: number;
  readonly boot: string;
  readonly mono_from: number;
  readonly mono_to: number;
  readonly max_interval_ms: number;
}

interface InForce {
  readonly time: number;
  readonly value: Parameters;
}

export interface FilterInput {
  readonly filter: FilterType;
  readonly source: "technician" | "service";
  readonly installed_at: number;
  /** When it was entered, and withdrawn (null: it wasn't). */
  readonly entered_at: number;
  readonly withdrawn_at: number | null;
}

/** All that figures are computed from, of one booth, over all its streams, in the order of corrected time. */
export interface BoothLog {
  readonly parameters: readonly InForce[];
  readonly covers: ReadonlyMap<string, readonly Cover[]>;
  readonly samples: ReadonlyMap<string, readonly Sample[]>;
  readonly filter_inputs: readonly FilterInput[];
}

/** Reads a booth's log; streams withdrawn from it don't count, nor do records that an x record names. */
export function loadLog(db: Db, boothId: string): BoothLog {
  return inSnapshot(db, () => logOf(db, boothId));
}

/** Its later part alone, and of that what figures over hours are made from: all parameters, and readings of tags that mean something. */
export function loadLogSince(db: Db, boothId: string, since: number): BoothLog {
  return inSnapshot(db, () => logOf(db, boothId, since));
}

function logOf(db: Db, boothId: string, since?: number): BoothLog {
  const streams = rows<StreamKey>(
    db,
    "SELECT id, gateway_id FROM streams WHERE booth_id = ? AND withdrawn_at IS NULL ORDER BY id",
    boothId,
  );
  const parameters: InForce[] = [];
  const covers = new Map<string, Cover[]>();
  const samples = new Map<string, Sample[]>();
  const filter_inputs: FilterInput[] = [];
  for (const stream of streams) {
    const voided = voidedSeqs(db, stream);
    const lists = { parameters, covers, samples, filter_inputs };
    const forget = forgetting(db, stream, lists);
    for (const row of since === undefined ? recordsOf(db, stream, { kinds: KINDS }) : laterOf(db, stream, since)) {
      forget(row);
      const withdrawn_at = voided.get(row[7]) ?? null;
      if (row[0] === "f") placeInput(row, lists, withdrawn_at);
      else if (withdrawn_at === null) place(row, lists);
    }
  }
  for (const list of [parameters, ...samples.values()]) list.sort((a, b) => a.time - b.time);
  for (const list of covers.values()) list.sort((a, b) => a.from - b.from);
  return { parameters, covers, samples, filter_inputs };
}

const KINDS = ["r", "h", "p", "f"];

function* laterOf(db: Db, stream: StreamKey, since: number): Generator<StoredRecord, undefined> {
  const told = [...recordsOf(db, stream, { kinds: ["p", "f"] })];
  const meant = new Set<string>();
  for (const [kind, , , , , value] of told) {
    const { tags } = kind === "p" ? (JSON.parse(value) as Parameters) : { tags: {} };
    for (const [name, { role, counter }] of Object.entries<TagParameters>(tags)) {
      if (role !== undefined || counter !== undefined) meant.add(name);
    }
  }
  const times = { start: since, end: Number.MAX_VALUE };
  const later = recordsOf(db, stream, { kinds: ["r", "h"], readings_of: meant, times });
  let next = later.next();
  for (const record of told) {
    for (; next.done !== true && next.value[7] < record[7]; next = later.next()) yield next.value;
    yield record;
  }
  for (; next.done !== true; next = later.next()) yield next.value;
}

/** Withdrawn seqs with the instant at which they were. */
function voidedSeqs(db: Db, stream: StreamKey): ReadonlyMap<number, number> {
  const sql = "SELECT value, time FROM records WHERE gateway_id = ? AND stream_no = ? AND kind = 'x'";
  const found = rows<{ value: string; time: number }>(db, sql, stream.gateway_id, stream.id);
  return new Map(found.map(({ value, time }) => [(JSON.parse(value) as { seq: number }).seq, time]));
}

interface Lists {
  readonly parameters: InForce[];
  readonly covers: Map<string, Cover[]>;
  readonly samples: Map<string, Sample[]>;
  readonly filter_inputs: FilterInput[];
}

/**
 * Returns a function that ends all tags' known values at dropped records, because a value may have changed inside.
 * Time that coverage of later records proves stays known, and a range that had fully arrived before the gateway lost
 * it has no effect. Call the function with each record of a stream in order, before the record is placed.
 */
function forgetting(db: Db, stream: StreamKey, { samples }: Lists): (row: StoredRecord) => void {
  const sql = "SELECT from_seq, to_seq FROM seq_gaps WHERE stream_no = ? AND rejected = 0 ORDER BY to_seq";
  const gaps = rows<{ from_seq: number; to_seq: number }>(db, sql, stream.id)
    .filter(({ from_seq, to_seq }) => heldUpTo(db, stream, from_seq - 1) < to_seq)
    .map(({ to_seq }) => to_seq);
  if (gaps.length === 0) return () => undefined;
  let known: Sample = { time: -Infinity, boot: "", mono: 0, value: null, good: false };
  let behind: Sample | null = null;
  return ([kind, tag, boot, mono, time, text, , seq]) => {
    let passed = false;
    while ((gaps[0] ?? Infinity) < seq) {
      gaps.shift();
      passed = true;
    }
    // At the last instant itself what was read then holds.
    if (passed && known.boot !== "") {
      behind = { ...known, time: known.time + 1, mono: known.mono + 1 };
      for (const list of samples.values()) list.push(behind);
    }
    const list = kind === "r" && behind !== null && time <= behind.time ? samples.get(tag) : undefined;
    if (list !== undefined && list.at(-1) === behind) list.pop();
    const value = kind === "h" ? (JSON.parse(text) as { readonly from: number; readonly to: number }) : null;
    const length = value === null ? 0 : value.to - value.from;
    if (time + length >= known.time) known = { ...known, time: time + length, boot, mono: mono + length };
  };
}

/** A person's entry. A reset, an assumption, or a maintenance record of the gateway's is its claim: changes are found here. */
function placeInput([, , , , time, text]: StoredRecord, { filter_inputs }: Lists, withdrawn_at: number | null): void {
  const value = JSON.parse(text) as Pick<FilterInput, "filter" | "installed_at"> & Record<string, unknown>;
  const { filter, source, ago_ms, maintenance } = value;
  if ((source !== "technician" && source !== "service") || maintenance !== undefined) return;
  const installed_at = typeof ago_ms === "number" ? time - ago_ms : value.installed_at;
  filter_inputs.push({ filter, source, installed_at, entered_at: time, withdrawn_at });
}

function place(row: StoredRecord, lists: Lists): void {
  const [kind, tag, boot, mono, time, text, quality] = row;
  const value = JSON.parse(text) as unknown;
  if (kind === "r") {
    const sample = { time, boot, mono, value: value as Sample["value"], good: quality !== "bad" && value !== null };
    listOf(lists.samples, tag).push(sample);
  } else if (kind === "p") lists.parameters.push({ time, value: value as Parameters });
  else {
    const cover = value as { group: string; from: number; to: number; polls: number; max_interval_ms: number };
    if (cover.polls === 0) return;
    const length = cover.to - cover.from;
    const { max_interval_ms } = cover;
    const entry = { from: time, to: time + length, boot, mono_from: cover.from, mono_to: cover.to, max_interval_ms };
    listOf(lists.covers, cover.group).push(entry);
  }
}

function listOf<T>(map: Map<string, T[]>, key: string): T[] {
  let list = map.get(key);
  if (list === undefined) map.set(key, (list = []));
  return list;
}

/** The parameters in force at an instant; before the first ones, the first. */
export function parametersAt(log: BoothLog, time: number): Parameters | undefined {
  let found = log.parameters[0]?.value;
  for (const entry of log.parameters) {
    if (entry.time > time) break;
    found = entry.value;
  }
  return found;
}

export interface RoleTag {
  readonly name: string;
  readonly tag: TagParameters;
}

/** Every tag that has, or ever had, a role; with its newest parameters. */
export function tagsOfRole(log: BoothLog, role: TagRole): readonly RoleTag[] {
  const found = new Map<string, TagParameters>();
  for (const { value } of log.parameters) {
    for (const [name, tag] of Object.entries(value.tags)) if (tag.role === role) found.set(name, tag);
  }
  return [...found].map(([name, tag]) => ({ name, tag }));
}

/** A value in Pa, C or %, converted as the gateway's parameters say. */
export function inUnitOfFigure(value: number, { conversion }: TagParameters): number {
  return conversion === undefined ? value : Number((value * conversion.scale + conversion.offset).toPrecision(12));
}

export function samplesOf(log: BoothLog, tag: string): readonly Sample[] {
  return log.samples.get(tag) ?? [];
}

/** Caches a result per log. A log never changes; a new record makes a new log. */
export function perLog<T>(find: (log: BoothLog, key: string) => T): (log: BoothLog, key: string) => T {
  const known = new WeakMap<BoothLog, Map<string, { readonly value: T }>>();
  return (log, key) => {
    const mine = known.get(log) ?? new Map<string, { readonly value: T }>();
    known.set(log, mine);
    const found = mine.get(key) ?? { value: find(log, key) };
    mine.set(key, found);
    return found.value;
  };
}

/** The good ones among a tag's samples. */
export const goodSamplesOf = perLog((log, tag): readonly Sample[] => samplesOf(log, tag).filter(({ good }) => good));

/** Units of time meters in an hour; any other unit is converted to hours by the tag's factor. */
const UNITS_PER_HOUR: Readonly<Record<string, number>> = { s: 3600, min: 60 };

/** The good readings of a filter's meter, in minutes. */
export const minuteSamplesOf = perLog((log, name): readonly Sample[] => {
  const tag = tagsOfRole(log, "filter_minutes").find((entry) => entry.name === name)?.tag;
  const scale = ((tag?.factor ?? 1) * 60) / (UNITS_PER_HOUR[tag?.unit ?? "min"] ?? 1);
  const samples = goodSamplesOf(log, name);
  return scale === 1 ? samples : samples.map((sample) => ({ ...sample, value: Number(sample.value) * scale }));
});
