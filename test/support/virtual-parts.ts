import type { Text } from "../../src/domain/message.ts";
import { render } from "../../src/domain/messages/render.ts";
import type { DeriveState } from "../../src/derivation/state.ts";
import type { BoothSummary } from "../../src/domain/summary.ts";
import type { TakenEntry } from "../../src/domain/taken.ts";
import type { Clock, Logger } from "../../src/domain/machine.ts";
import type { Tail } from "../../src/acquisition/port.ts";
import { summaryOf } from "../../src/reports/summary.ts";
import { sleepBy } from "../../src/domain/signal.ts";
import type { VirtualClock } from "../../simulators/virtual/clock.ts";
import { figuresMaker, figuresOf, type OwnFigures } from "../../src/api/report-thread.ts";
import { deriveFold } from "../../src/store/facts/fold.ts";
import { openReader } from "../../src/store/reader.ts";

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
  const after: Clock["after"] = (ms, act) =>
    clock.after(ms, () => {
      if (!life.dead) act();
    });
  return { ...clock, after, sleep: sleepBy(after) };
}

/** A tail in memory that outlives its process, as tmpfs does. */
export function memoryTail(leftover: readonly TakenEntry[], save: (left: readonly TakenEntry[]) => void): Tail {
  // As through a file: what is read back is a copy.
  const left = JSON.parse(JSON.stringify(leftover)) as readonly TakenEntry[];
  let pending = [...left];
  return {
    leftover: () => left,
    append(entries) {
      pending.push(...entries);
      save(pending);
    },
    committed(stream, take) {
      pending = pending.filter((entry) => entry.stream !== stream || entry.take > take);
      save(pending);
    },
    close: () => undefined,
  };
}

export function collectingLogger(lines: string[]): Logger {
  const take = (_fields: unknown, text: Text): void => void lines.push(render(text));
  return { debug: () => undefined, info: take, warn: take, error: take };
}

/** What the box itself makes of a booth's day, at once on the store's files. */
export async function ownFigures(
  folder: string,
  ...[booth, day, status]: readonly [...Parameters<typeof figuresOf>]
): Promise<OwnFigures> {
  const make = await figuresMaker(figuresOf(booth, day, status));
  const reader = openReader(folder, deriveFold);
  try {
    return make(reader);
  } finally {
    reader.close();
  }
}
