import type { Holes } from "../rules/plan.ts";
import { addHole, forgetRange } from "../rules/plan-split.ts";
import type { ModbusTable, ModbusTag } from "../../domain/profile.ts";
import type { Sample } from "../../domain/sample.ts";
import type { Milliseconds } from "../../domain/units.ts";
import { learn } from "./group-outcome.ts";
import type { PieceOutcome } from "./read-piece.ts";

/** What was learned of one firmware version of a device. */
interface VersionHoles {
  readonly holes: Holes;
  /** By hole: when it was learned, on the monotonic clock. */
  readonly learned_at: ReadonlyMap<string, Milliseconds>;
}

/** Address ranges that a device has refused, for each of its firmware versions. Pure. */
export interface HoleMemory {
  /** The version that the device shows; "": none was read yet. */
  readonly firmware: string;
  readonly versions: ReadonlyMap<string, VersionHoles>;
}

/** So long a hole is believed: then its block is tried whole again, once. */
export const HOLE_TTL_MS: Milliseconds = 24 * 3_600_000;
/** A device that is updated to and fro needs two; more would be a firmware string that isn't one. */
const MAX_VERSIONS = 4;

const NOTHING: VersionHoles = { holes: {}, learned_at: new Map() };

export const NO_HOLES: HoleMemory = { firmware: "", versions: new Map() };

/** The ranges that no block may touch today. */
export function holesNow(memory: HoleMemory): Holes {
  return ofVersion(memory).holes;
}

/** With what the answers of one poll say; the same object where that is nothing new. */
export function learnHoles(memory: HoleMemory, outcome: PieceOutcome, mono: Milliseconds): HoleMemory {
  const before = ofVersion(memory);
  const holes = learn(before.holes, outcome);
  if (holes === before.holes) return memory;
  const learned_at = new Map(keysOf(holes).map((key) => [key, before.learned_at.get(key) ?? mono]));
  return withVersion(memory, memory.firmware, { holes, learned_at });
}

/** Without the holes that are older than `ttl_ms`; the same object where there are none. */
export function expireHoles(memory: HoleMemory, mono: Milliseconds, ttl_ms: Milliseconds): HoleMemory {
  const { holes, learned_at } = ofVersion(memory);
  const old = rangesOf(holes).filter(({ key }) => mono - (learned_at.get(key) ?? mono) >= ttl_ms);
  if (old.length === 0) return memory;
  const left = old.reduce((kept, { table, range }) => forgetRange(kept, table, range), holes);
  const dates = new Map(keysOf(left).map((key) => [key, learned_at.get(key) ?? mono]));
  return withVersion(memory, memory.firmware, { holes: left, learned_at: dates });
}

/**
 * The device shows this firmware version: what was learned of another one no longer holds, and stands ready should that
 * one come back; null: none was read. What was learned before the first version was read is of that version.
 */
export function underFirmware(memory: HoleMemory, firmware: string | null): HoleMemory {
  if (firmware === null || firmware === memory.firmware) return memory;
  const known = memory.versions.get(firmware) ?? (memory.firmware === "" ? ofVersion(memory) : NOTHING);
  const versions = new Map([...memory.versions].filter(([version]) => version !== ""));
  return withVersion({ firmware, versions }, firmware, known);
}

/** One learned hole of one version. */
export interface LearnedRange {
  readonly firmware: string;
  readonly table: ModbusTable;
  readonly range: readonly [number, number];
  /** On the monotonic clock; below 0 where it was learned before the boot. */
  readonly learned_at: Milliseconds;
}

/** Everything that is remembered, one by one. */
export function rangesIn(memory: HoleMemory): readonly LearnedRange[] {
  return [...memory.versions].flatMap(([firmware, { holes, learned_at }]) =>
    rangesOf(holes).map(({ table, range, key }) => ({ firmware, table, range, learned_at: learned_at.get(key) ?? 0 })),
  );
}

/** The memory in which those ranges stand. */
export function holesFrom(firmware: string, ranges: readonly LearnedRange[]): HoleMemory {
  const versions = new Map(
    [...Map.groupBy(ranges, (one) => one.firmware)].slice(-MAX_VERSIONS).map(([version, own]) => {
      const holes = own.reduce<Holes>((all, { table, range }) => addHole(all, table, range), {});
      const learned_at = new Map(own.map(({ table, range, learned_at: at }) => [keyOf(table, range), at]));
      return [version, { holes, learned_at }] as const;
    }),
  );
  return { firmware, versions };
}

/** The firmware version that a poll showed; null: none. */
export function firmwareIn(tags: readonly ModbusTag[], samples: readonly Sample[]): string | null {
  const tag = tags.find(({ role }) => role === "firmware_version");
  const sample = samples.find((one) => one.tag === tag?.name && one.quality === "good");
  const version = sample?.value === undefined || sample.value === null ? "" : String(sample.value).trim();
  return version === "" ? null : version;
}

function ofVersion({ firmware, versions }: HoleMemory): VersionHoles {
  return versions.get(firmware) ?? NOTHING;
}

/** The version used last stands last; the first one goes when there are too many. */
function withVersion({ versions }: HoleMemory, firmware: string, holes: VersionHoles): HoleMemory {
  const others = [...versions].filter(([version]) => version !== firmware).slice(1 - MAX_VERSIONS);
  return { firmware, versions: new Map([...others, [firmware, holes]]) };
}

function rangesOf(
  holes: Holes,
): readonly { readonly table: ModbusTable; readonly range: readonly [number, number]; readonly key: string }[] {
  return Object.entries(holes).flatMap(([table, ranges]) =>
    ranges.map((range) => ({ table: table as ModbusTable, range, key: keyOf(table as ModbusTable, range) })),
  );
}

function keyOf(table: ModbusTable, range: readonly [number, number]): string {
  return `${table} ${range[0]} ${range[1]}`;
}

function keysOf(holes: Holes): readonly string[] {
  return rangesOf(holes).map(({ key }) => key);
}
