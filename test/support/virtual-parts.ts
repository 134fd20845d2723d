import type { DeriveState } from "../../src/core/derive/state.ts";
import { LinkError, type LinkErrorKind } from "../../src/core/link-error.ts";
import type { BoothSummary } from "../../src/core/types/summary.ts";
import type { TakenEntry } from "../../src/core/types/taken.ts";
import type { Clock, Driver, Logger, Tail } from "../../src/ports.ts";
import { summaryOf } from "../../src/report/summary.ts";
import type { VirtualClock } from "./virtual-clock.ts";

export function nowAndThen(interval_ms: number): (state: unknown, now: number) => BoothSummary {
  let last: { readonly at: number; readonly summary: BoothSummary } | null = null;
  return (state, now) => {
    if (last === null || now - last.at >= interval_ms)
      last = { at: now, summary: summaryOf(state as DeriveState, now) };
    return last.summary;
  };
}

/** Once its process is dead nothing that sleeps ever wakes: an await is where a kill takes effect. */
export function mortalClock(clock: VirtualClock, life: { readonly dead: boolean }): Clock {
  return {
    ...clock,
    sleep: (ms, signal) =>
      clock.sleep(ms, signal).then(() => (life.dead ? new Promise<never>(() => undefined) : undefined)),
  };
}

/** A tail in memory that outlives its process, as tmpfs does. */
export function memoryTail(leftover: readonly TakenEntry[], save: (left: readonly TakenEntry[]) => void): Tail {
  // As through a file: what is read back is a copy.
  const left = JSON.parse(JSON.stringify(leftover)) as readonly TakenEntry[];
  let pending = [...left];
  return {
    leftover: () => left,
    append(entry) {
      pending.push(entry);
      save(pending);
    },
    committed(stream, take) {
      pending = pending.filter((entry) => entry.stream !== stream || entry.take > take);
      save(pending);
    },
    close: () => undefined,
  };
}

/** The simulator's failures as the LinkError that the port promises. */
export function typedDriver(driver: Driver): Driver {
  const typed = (error: unknown): never => {
    if (error instanceof Error && "kind" in error)
      throw new LinkError(error.kind as LinkErrorKind, error.message, error);
    throw error;
  };
  return {
    open: (signal) => driver.open(signal).catch(typed),
    read: (group, signal) => driver.read(group, signal).catch(typed),
    close: () => driver.close(),
  };
}

export function collectingLogger(lines: string[]): Logger {
  const take = (_fields: unknown, text: string): void => void lines.push(text);
  return { debug: () => undefined, info: take, warn: take, error: take };
}
