import { KIND } from "../../domain/record.ts";
import { isWitnessed, takenBack, type Shown } from "../../derivation/clock.ts";
import type { TakenBack } from "../../derivation/state.ts";
import type { Seq, StreamId } from "../../domain/units.ts";
import type { StreamInfo } from "../port.ts";
import { ifWhole, unpackLog } from "./rows.ts";
import { logRowsAfter, type Statements } from "./statements.ts";

interface Words {
  /** The boot and clock offset of the fold at the time of the last search. */
  clock: string;
  /** The seq up to which clock records were searched. */
  upto: Seq;
  /** Clock records up to `upto`; null: not searched yet. */
  shown: Shown[] | null;
}

export type ClockWords = ReturnType<typeof clockWords>;

/** Detects when a new clock record changes which earlier clock records count as wrong ("taken back"). */
export function clockWords(sql: Statements) {
  const known = new Map<StreamId, Words>();
  return {
    /** Notes a stream when it is loaded. Its facts already include the clock corrections that were withdrawn. */
    opened(stream: StreamId, clock: string, newest: Seq): void {
      if (!known.has(stream)) known.set(stream, { clock, upto: newest, shown: null });
    },
    /**
     * Returns whether newer records changed which stretches of time are taken back (corrected). Costs nothing as long as the clock offset
     * is unchanged.
     */
    hasChanged({ stream, oldest_seq: oldest, newest_seq: newest }: StreamInfo, clock: string): boolean {
      const words = known.get(stream);
      if (words === undefined || words.clock === clock) return false;
      const before = words.shown ?? shownIn(sql, stream, { from: oldest, to: words.upto });
      const shown = [...before, ...shownIn(sql, stream, { from: Math.max(oldest, words.upto + 1), to: newest })];
      Object.assign(words, { clock, upto: newest, shown });
      return JSON.stringify(takenBack(shown)) !== JSON.stringify(takenBack(before));
    },
  };
}

/**
 * Returns the clock records that are found to be wrong ("taken back"). Searches `shown` and all clock records after `seq`. `shown` is the
 * clock record that set the state's clock, which may be deleted from the log; null: the state has no such record.
 */
export function takenBackFrom(
  sql: Statements,
  stream: StreamId,
  { seq, shown }: { readonly seq: Seq; readonly shown: Shown | null },
): TakenBack[] {
  return takenBack([...(shown === null ? [] : [shown]), ...shownIn(sql, stream, { from: seq + 1, to: Infinity })]);
}

function shownIn(sql: Statements, stream: StreamId, range: { readonly from: Seq; readonly to: Seq }): Shown[] {
  const shown: Shown[] = [];
  for (const row of logRowsAfter(sql, stream, range.from - 1)) {
    if (row.first_seq > range.to) return shown;
    for (const record of ifWhole((one) => unpackLog(one, (kind) => kind === KIND.clock), row) ?? []) {
      const isIn = record.seq >= range.from && record.seq <= range.to;
      if (isIn && record.kind === KIND.clock && isWitnessed(record)) {
        shown.push({ boot: record.boot, mono: record.mono, wall: record.value.wall });
      }
    }
  }
  return shown;
}
