import type { Booth } from "../../plc/model/booth.ts";
import { uniform } from "../../plc/model/random.ts";
import { quantityOf } from "../../plc/quantities.ts";
import { canonical } from "../ingest/canonical.ts";
import type { Offered } from "../ingest/batch.ts";
import { codeOf, demoParameters, FAST_MS, SLOW_MS, TAGS } from "./parameters.ts";
import type { Span } from "../base/span.ts";
import { HOUR_MS, DAY_MS } from "../../../src/domain/time.ts";

const COVER_MS = 6 * HOUR_MS;
/** Length of the gateway's outages at every sixth booth. */
const OUTAGE_MS = 40 * 60_000;
const OUTAGE_EVERY_DAYS = 9;
/** Read times for a reset button's coil, which is on for 3 s: one poll sees it on, a later one off. */
const PULSE_MS: readonly number[] = [0, FAST_MS, 5 * FAST_MS];

const NAMES = Object.keys(TAGS);

/**
 * Returns the records of a booth over a window as its gateway would have delivered them, with seq from 1 on in order of
 * time.
 */
export function historyOf(booth: Booth, nth: number, window: Span): Offered[] {
  const out: Offered[] = [];
  const add = (kind: string, tag: string, at: { time: number; value: unknown }): void => {
    const { time, value } = at;
    const quality = value === null ? "bad" : "good";
    const base = { kind, tag, boot: `demo-${nth}`, mono: time - window.start, time, quality, fault: undefined };
    out.push({ ...base, seq: out.length + 1, value: canonical(value) });
  };
  add("p", "", { time: window.start, value: demoParameters(booth.scenario.tz) });
  for (const seen of seenSpans(booth.seed, nth, window)) {
    for (const from of steps(seen, COVER_MS)) {
      const to = Math.min(from + COVER_MS, seen.end) - FAST_MS;
      for (const [group, poll_ms] of [
        ["fast", FAST_MS],
        ["slow", SLOW_MS],
      ] as const) {
        const span = { from: from - window.start, to: to - window.start };
        const polls = 1 + Math.floor((to - from) / poll_ms);
        add("h", group, { time: from, value: { group, ...span, polls, max_interval_ms: poll_ms } });
      }
    }
    readThrough(booth, seen, (tag, at) => add("r", tag, at));
  }
  return out;
}

/** Returns the window without the gateway's outages. */
function seenSpans(seed: number, nth: number, window: Span): Span[] {
  if (nth % 6 !== 2) return [window];
  const out: Span[] = [];
  let start = window.start;
  for (let at = window.start + DAY_MS; at + DAY_MS < window.end; at += OUTAGE_EVERY_DAYS * DAY_MS) {
    const away = at + Math.floor(uniform(seed, `outage/${nth}/${at}`) * DAY_MS);
    out.push({ start, end: away });
    start = away + OUTAGE_MS;
  }
  return [...out, { start, end: window.end }];
}

function steps(span: Span, ms: number): number[] {
  return Array.from({ length: Math.ceil((span.end - span.start) / ms) }, (_, i) => span.start + i * ms);
}

type Read = (tag: string, at: { time: number; value: unknown }) => void;

/** Reads the booth at each change, and its slow tags every half hour. Unchanged values are not recorded again. */
function readThrough(booth: Booth, seen: Span, read: Read): void {
  const told = new Map<string, unknown>();
  for (const { time, slow } of polls(booth, seen)) {
    const state = booth.stateAt(time);
    for (const name of NAMES) {
      const tag = TAGS[name];
      if (tag === undefined || (tag.parameters.group === "slow" && !slow)) continue;
      const value = rounded(quantityOf(name, state, { ...booth, code: ({ mode }) => codeOf(mode) }), tag.step);
      if (value === undefined || told.get(name) === value) continue;
      told.set(name, value);
      read(name, { time, value });
    }
  }
}

interface Poll {
  readonly time: number;
  /**
   * The slow tags are read too: every half hour, and around a filter change, in which the counter is reset together
   * with the coil.
   */
  readonly slow: boolean;
}

function polls(booth: Booth, seen: Span): Poll[] {
  const events = booth.entries(seen.start, seen.end).flatMap(({ at, action }): Poll[] => {
    const time = Math.ceil(at / FAST_MS) * FAST_MS;
    if (action?.kind === "mode") return [{ time, slow: false }];
    return action?.kind === "press" ? PULSE_MS.map((ms) => ({ time: time + ms, slow: true })) : [];
  });
  const clock = steps(seen, SLOW_MS).map((time) => ({ time, slow: true }));
  return [...clock, ...events].filter(({ time }) => time < seen.end).sort((a, b) => a.time - b.time);
}

/** A sensor's NaN has no value. */
function rounded(value: unknown, step: number): unknown {
  if (typeof value !== "number" || step === 0) return value;
  if (!Number.isFinite(value)) return null;
  return Math.round(Math.round(value / step) * step * 100) / 100;
}
