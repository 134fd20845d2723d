import { bridgeMs } from "../figures/bridge.ts";
import { type BoothLog, parametersAt, type Sample, samplesOf } from "../figures/log.ts";
import type { Span } from "../base/span.ts";

/** A tag's value over time that answered polls prove. */
export interface Held extends Span {
  readonly value: Sample["value"];
}

/**
 * Returns the known values of a tag in order, without overlap. A silence over the bridge and a bad reading leave gaps.
 */
export function heldValues(log: BoothLog, tag: string): Held[] {
  const samples = samplesOf(log, tag);
  const proven = provenTime(log, tag);
  const out: Held[] = [];
  let at = 0;
  samples.forEach(({ time, value, good }, i) => {
    const next = samples[i + 1]?.time ?? Infinity;
    while ((proven[at]?.end ?? Infinity) <= time) at += 1;
    if (!good) return;
    for (let k = at; (proven[k]?.start ?? Infinity) < next; k += 1) {
      const span = proven[k];
      if (span === undefined) break;
      const start = Math.max(span.start, time);
      const end = Math.min(span.end, next);
      if (end > start) out.push({ start, end, value });
    }
  });
  return out;
}

/** Returns the time in which the tag's group was answered, including silences up to the bridge. */
function provenTime(log: BoothLog, tag: string): Span[] {
  const group = log.parameters.findLast(({ value }) => value.tags[tag] !== undefined)?.value.tags[tag]?.group ?? "";
  const out: Span[] = [];
  for (const { from, to } of log.covers.get(group) ?? []) {
    const last = out.at(-1);
    if (last !== undefined && from - last.end <= bridgeMs(parametersAt(log, last.end), group)) {
      out[out.length - 1] = { start: last.start, end: Math.max(last.end, to) };
    } else out.push({ start: from, end: to });
  }
  return out;
}

/** Combines the values of two tags for the time in which both are known. */
export function together(
  a: readonly Held[],
  b: readonly Held[],
): (Span & { values: [Held["value"], Held["value"]] })[] {
  const out: (Span & { values: [Held["value"], Held["value"]] })[] = [];
  let j = 0;
  for (const one of a) {
    while ((b[j]?.end ?? Infinity) <= one.start) j += 1;
    for (let k = j; (b[k]?.start ?? Infinity) < one.end; k += 1) {
      const other = b[k];
      if (other === undefined) break;
      const start = Math.max(one.start, other.start);
      const end = Math.min(one.end, other.end);
      if (end > start) out.push({ start, end, values: [one.value, other.value] });
    }
  }
  return out;
}
