import type { Trouble } from "../../domain/status.ts";
import type { RequestCounts } from "../../domain/live.ts";
import type { Milliseconds } from "../../domain/units.ts";

/** Whether a device loses so many requests that people should know, though its values come. */
export interface Losses {
  /** Of the stretch that is looked at: where it began. */
  readonly from: { readonly mono: Milliseconds; readonly counts: RequestCounts };
  /** What people are told; the same words until it is over. null: too few are lost. */
  readonly trouble: Trouble | null;
}

/** A stretch has at least so many requests and so much time: what is told changes once in it. */
const STRETCH_REQUESTS = 100;
const STRETCH_MS: Milliseconds = 60_000;
/** One lost reply is nothing, nor is a switch that starts anew. */
const LEAST_MISSED = 5;
const WORTH_TELLING = 0.02;
/** A stretch with fewer is over with it. */
const WELL = 0.01;

export function noLosses(counts: RequestCounts, mono: Milliseconds): Losses {
  return { from: { mono, counts }, trouble: null };
}

/** With the counts as they are after another poll. */
export function withRequests(before: Losses, counts: RequestCounts, mono: Milliseconds): Losses {
  const { from } = before;
  const asked = counts.asked - from.counts.asked;
  const missed = counts.missed - from.counts.missed;
  const share = asked === 0 ? 0 : missed / asked;
  const isWorth = before.trouble === null && missed >= LEAST_MISSED && share >= WORTH_TELLING;
  if (isWorth) return { from: { mono, counts }, trouble: lossTrouble(missed, asked) };
  if (asked < STRETCH_REQUESTS || mono - from.mono < STRETCH_MS) return before;
  return { from: { mono, counts }, trouble: share < WELL ? null : before.trouble };
}

function lossTrouble(missed: number, asked: number): Trouble {
  return {
    reason: `${missed} of the last ${asked} requests brought no right answer; most are made up for by asking again`,
    advice:
      "check cable, shield, plugs, and the switch or converter in between; another master may ask the PLC too often",
  };
}
