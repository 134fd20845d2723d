import { bookingsOf } from "../figures/counters.ts";
import type { BoothFigures } from "../figures/booth.ts";
import { parametersAt } from "../figures/log.ts";
import { clip, type Span, union } from "../base/span.ts";
import { type Held, heldValues, together } from "./held.ts";
import { MINUTE_MS } from "../../../src/domain/time.ts";

/**
 * The condition of an alert. `threshold`: minutes (time), factor of extra_tag (tag_threshold), value or increase
 * (value_threshold).
 */
export interface AlertType {
  readonly type: "time" | "tag" | "tag_threshold" | "value_threshold";
  readonly base_tag: string;
  readonly extra_tag: string | null;
  readonly threshold: number | null;
  /** Minutes over which a counter's increase is computed. */
  readonly condition_over: number | null;
  /** Start of the present rules. Alerts from before it are unchanged. */
  readonly rules_since: number;
}

export interface FoundAlert {
  readonly started_at: number;
  /** null: the alert is still active. */
  readonly ended_at: number | null;
  /** Minutes, increase or reading at its start; null if that isn't a number. */
  readonly value: number | null;
}

interface Raised extends Span {
  readonly value: number | null;
}

/** Returns the alerts of a type for one booth, in order. */
export function alertsOf(type: AlertType, figures: BoothFigures): FoundAlert[] {
  const held = heldValues(figures.log, type.base_tag);
  const known = held.at(-1)?.end ?? 0;
  return raisedBy(type, figures, held).map(({ start, end, value }) => {
    return { started_at: start, ended_at: end >= known ? null : end, value };
  });
}

function raisedBy(type: AlertType, figures: BoothFigures, held: readonly Held[]): Raised[] {
  const since = { start: type.rules_since, end: Infinity };
  const threshold = type.threshold ?? 0;
  switch (type.type) {
    case "time": {
      const wait = threshold * MINUTE_MS;
      const long = clip(union(held.filter(({ value }) => isTrue(value))), since).filter(
        (span) => span.end - span.start > wait,
      );
      return long.map(({ start, end }) => ({ start: start + wait, end, value: threshold }));
    }
    case "tag":
      return joined(
        held.filter(({ value }) => isTrue(value)),
        since,
      );
    case "tag_threshold": {
      const both = together(held, heldValues(figures.log, type.extra_tag ?? ""));
      const over = both.filter(({ values }) => Number(values[0]) >= threshold * Number(values[1]));
      return joined(
        over.map(({ start, end, values }) => ({ start, end, value: values[0] })),
        since,
      );
    }
    case "value_threshold":
      return isCounter(type, figures)
        ? increases(type, figures, since)
        : joined(
            held.filter(({ value }) => Number(value) >= threshold),
            since,
          );
  }
}

/** Merges adjacent spans and keeps the reading at the start. */
function joined(held: readonly Held[], since: Span): Raised[] {
  let at = 0;
  return clip(union(held), since).map((span) => {
    while ((held[at]?.end ?? Infinity) <= span.start) at += 1;
    const value = held[at]?.value ?? null;
    return { ...span, value: value === null || Number.isNaN(Number(value)) ? null : Number(value) };
  });
}

function isTrue(value: Held["value"]): boolean {
  return value === true || value === "true" || (typeof value === "number" && value !== 0);
}

function isCounter(type: AlertType, { log }: BoothFigures): boolean {
  return type.condition_over !== null && parametersAt(log, Infinity)?.tags[type.base_tag]?.counter !== undefined;
}

/**
 * Returns the time in which the counter's increase over the last `condition_over` minutes is at or above the threshold.
 */
function increases(type: AlertType, { log, filter_input }: BoothFigures, since: Span): Raised[] {
  const over = (type.condition_over ?? 0) * MINUTE_MS;
  const booked = bookingsOf(log, type.base_tag, filter_input.restarts.instants).filter(
    ({ time }) => time >= since.start,
  );
  const steps = booked
    .flatMap(({ time, amount }) => [
      { time, amount },
      { time: time + over, amount: -amount },
    ])
    .sort((a, b) => a.time - b.time);
  const out: Raised[] = [];
  let sum = 0;
  steps.forEach(({ time, amount }, i) => {
    sum += amount;
    const next = steps[i + 1]?.time ?? time;
    if (next === time || sum < (type.threshold ?? 0) - 1e-9) return;
    const last = out.at(-1);
    if (last?.end === time) out[out.length - 1] = { ...last, end: next };
    else out.push({ start: time, end: next, value: Math.round(sum * 1e4) / 1e4 });
  });
  return out;
}
