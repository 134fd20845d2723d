import type { Mode } from "../../../src/domain/booth.ts";
import type { Parameters } from "../../../src/domain/parameters.ts";
import { bridgeMs } from "./bridge.ts";
import { type BoothLog, type Cover, parametersAt, type Sample, samplesOf } from "./log.ts";
import { firstAfter } from "../base/search.ts";

/** Time proved by answered polls, in one mode; a single poll is a segment of length 0. */
export interface Segment {
  readonly from: number;
  readonly to: number;
  readonly boot: string;
  readonly mono_from: number;
  readonly mono_to: number;
  readonly mode: Mode;
  readonly raw: string;
}

/** Returns the covered time of a mode tag, split at its readings and at changes of the parameters. */
export function observe(log: BoothLog, modeTag: string): Segment[] {
  const samples = samplesOf(log, modeTag);
  const parameters = parametersAt(log, Infinity);
  const group = parameters?.tags[modeTag]?.group ?? "";
  const bridge_ms = bridgeMs(parameters, group);
  const out: Segment[] = [];
  let i = 0;
  let held: Sample | undefined;
  let before: Cover | undefined;
  for (const cover of log.covers.get(group) ?? []) {
    for (; (samples[i]?.time ?? Infinity) < cover.from; i += 1) {
      held = samples[i];
      if (held?.good) pushUncovered(log, out, held);
    }
    // A record of coverage may end between two polls that follow each other: the mode holds up to the second, though that be bad.
    const last = before?.boot === cover.boot && cover.mono_from - before.mono_to <= bridge_ms ? before : undefined;
    let from = last === undefined ? cover.from : Math.min(cover.from, Math.max(last.to, held?.time ?? 0));
    for (; (samples[i]?.time ?? Infinity) <= cover.to; i += 1) {
      const sample = samples[i];
      if (sample === undefined) break;
      if (sample.time > from) pushHeld(log, out, { cover, held, from, to: sample.time });
      from = sample.time;
      held = sample;
    }
    pushHeld(log, out, { cover, held, from, to: cover.to });
    before = cover;
  }
  for (const sample of samples.slice(i)) if (sample.good) pushUncovered(log, out, sample);
  return out.sort((a, b) => a.from - b.from || a.to - b.to);
}

/** A reading proves its own instant even if its coverage hasn't arrived yet. */
function pushUncovered(log: BoothLog, out: Segment[], sample: Sample): void {
  const { time, mono, boot } = sample;
  const cover = { from: time, to: time, boot, mono_from: mono, mono_to: mono, max_interval_ms: 0 };
  pushHeld(log, out, { cover, held: sample, from: time, to: time });
}

interface Held {
  readonly cover: Cover;
  readonly held: Sample | undefined;
  readonly from: number;
  readonly to: number;
}

function pushHeld(log: BoothLog, out: Segment[], { cover, held, from, to }: Held): void {
  if (!held?.good) return;
  const raw = String(held.value);
  let start = from;
  const push = (end: number, mode: Mode): void => {
    const mono_from = cover.mono_from + (start - cover.from);
    const mono_to = cover.mono_from + (end - cover.from);
    out.push({ from: start, to: end, boot: cover.boot, mono_from, mono_to, mode, raw });
    start = end;
  };
  let mode = modeOf(parametersAt(log, from), raw);
  for (let k = firstAfter(log.parameters, from, (entry) => entry.time); k < log.parameters.length; k += 1) {
    const entry = log.parameters[k];
    if (entry === undefined || entry.time >= to) break;
    const next = modeOf(entry.value, raw);
    if (next === mode) continue;
    push(entry.time, mode);
    mode = next;
  }
  push(to, mode);
}

function modeOf(parameters: Parameters | undefined, raw: string): Mode {
  // If a PLC has a bit for each mode, several may be on, with the highest priority first.
  const [first = raw] = raw.split(" & ");
  return parameters?.modes[raw] ?? parameters?.modes[first] ?? "unknown";
}
