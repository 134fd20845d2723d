import { MODBUS_TABLES, type ModbusTable } from "../../domain/profile.ts";
import type { EpochMs, Milliseconds } from "../../domain/units.ts";
import { holesFrom, NO_HOLES, rangesIn, type HoleMemory, type LearnedRange } from "./hole-memory.ts";

/**
 * Learned holes as they are kept over a restart: JSON, in wall-clock time, since monotonic time ends with the boot. `device`
 * says what they were learned of: address, unit and profile; of another one they mean nothing.
 */
export interface KeptHoles {
  readonly version: 1;
  readonly device: string;
  readonly firmware: string;
  readonly ranges: readonly KeptRange[];
}

interface KeptRange {
  readonly firmware: string;
  readonly table: ModbusTable;
  readonly first: number;
  readonly last: number;
  readonly learned_at: EpochMs;
}

export interface Instant {
  readonly mono: Milliseconds;
  readonly wall: EpochMs;
}

const TABLES: ReadonlySet<unknown> = new Set(MODBUS_TABLES);
/** A device has few; a file with more is no list of holes. */
const MOST_RANGES = 10_000;

export function keptHoles(memory: HoleMemory, device: string, now: Instant): KeptHoles {
  const ranges = rangesIn(memory).map(({ firmware, table, range, learned_at }) => ({
    firmware,
    table,
    first: range[0],
    last: range[1],
    learned_at: Math.round(now.wall - (now.mono - learned_at)),
  }));
  return { version: 1, device, firmware: memory.firmware, ranges };
}

/**
 * What was kept, as far as it holds for this device; what can't be read is left out: the device will teach it again.
 * A hole that seems to lie in the future (the clock was wrong then, or is now) counts from now on.
 */
export function restoredHoles(kept: unknown, device: string, now: Instant): HoleMemory {
  if (!isKept(kept) || kept.device !== device) return NO_HOLES;
  const ranges = kept.ranges
    .filter(isRange)
    .slice(0, MOST_RANGES)
    .map(({ firmware, table, first, last, learned_at }): LearnedRange => ({
      firmware,
      table,
      range: [first, last],
      learned_at: now.mono - Math.max(0, now.wall - learned_at),
    }));
  return holesFrom(kept.firmware, ranges);
}

function isKept(value: unknown): value is { device: string; firmware: string; ranges: readonly unknown[] } {
  if (typeof value !== "object" || value === null) return false;
  const fields = new Map<string, unknown>(Object.entries(value));
  const isText = typeof fields.get("device") === "string" && typeof fields.get("firmware") === "string";
  return fields.get("version") === 1 && isText && Array.isArray(fields.get("ranges"));
}

function isRange(value: unknown): value is KeptRange {
  if (typeof value !== "object" || value === null) return false;
  const fields = new Map<string, unknown>(Object.entries(value));
  const [first, last] = [fields.get("first"), fields.get("last")];
  const isNumbers = Number.isInteger(first) && Number.isInteger(last) && Number.isFinite(fields.get("learned_at"));
  return isNumbers && typeof fields.get("firmware") === "string" && TABLES.has(fields.get("table"));
}
