import type { TagParameters } from "../../../src/domain/parameters.ts";
import { bridgeMs } from "./bridge.ts";
import { allowance } from "./counters.ts";
import { type BoothLog, goodSamplesOf, parametersAt, perLog, type Sample, samplesOf, tagsOfRole } from "./log.ts";

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1000, min: 60_000, h: 3_600_000 };
/** A reset coil this near to a counter's fall explains it. */
const COIL_MS = 60_000;

/** Counters that fell in one poll; where two or more did, memory was lost. */
interface JointFall {
  readonly time: number;
  readonly tags: ReadonlySet<string>;
}

/** Evidence of PLC restarts, as instants in order. */
export interface Restarts {
  readonly instants: readonly number[];
  readonly joint_falls: readonly JointFall[];
  /** Instants of readings that show a restart by which counters fell, in order. */
  readonly losses: readonly number[];
}

export function findRestarts(log: BoothLog): Restarts {
  return restartsOf(log, "");
}

const restartsOf = perLog((log): Restarts => {
  const falls = fallsOf(log);
  const joint_falls = falls.filter((fall) => fall.tags.size >= 2 && !areNewFilters(log, fall));
  const uptimes = fallenUptimes(log);
  const scans = firstScans(log);
  const shown = new Set([...uptimes.map(({ time }) => time), ...scans, ...joint_falls.map(({ time }) => time)]);
  const instants = [...uptimes.map(({ started }) => started), ...scans, ...joint_falls.map(({ time }) => time)];
  const losses = falls.flatMap(({ time }) => (shown.has(time) ? [time] : []));
  return { instants: instants.sort((a, b) => a - b), joint_falls, losses: losses.sort((a, b) => a - b) };
});

/** Readings of an uptime that had fallen, and when the PLC had started by them. */
function fallenUptimes(log: BoothLog): { readonly time: number; readonly started: number }[] {
  return tagsOfRole(log, "uptime").flatMap(({ name, tag }) => {
    const good = goodSamplesOf(log, name);
    return good.flatMap((sample, i) => {
      const before = good[i - 1];
      if (before === undefined || Number(sample.value) >= Number(before.value)) return [];
      const started = sample.time - Number(sample.value) * (UNIT_MS[tag.unit] ?? 1000);
      return [{ time: sample.time, started: Math.min(sample.time, Math.max(started, before.time)) }];
    });
  });
}

function firstScans(log: BoothLog): number[] {
  return tagsOfRole(log, "first_scan").flatMap(({ name }) => {
    const good = goodSamplesOf(log, name);
    return good
      .filter((sample, i) => i > 0 && isOn(sample.value) && !isOn(good[i - 1]?.value ?? null))
      .map(({ time }) => time);
  });
}

export function isOn(value: unknown): boolean {
  return value === true || value === 1 || value === "1" || value === "true";
}

/** Counters that fell, by poll; one that fell alone is no evidence. */
function fallsOf(log: BoothLog): JointFall[] {
  const byTime = new Map<number, Set<string>>();
  const names = new Map(
    log.parameters.flatMap(({ value }) => Object.entries(value.tags).filter(([, tag]) => tag.counter !== undefined)),
  );
  for (const [name, tag] of names) {
    const good = goodSamplesOf(log, name);
    good.forEach((sample, i) => {
      const before = good[i - 1];
      if (before === undefined || Number(sample.value) >= Number(before.value)) return;
      if (
        tag.filter !== undefined &&
        coilEdges(log, tag.filter).some((edge) => Math.abs(edge - sample.time) <= COIL_MS)
      )
        return;
      if (wrapsHere(tag.counter?.modulus, Number(before.value), Number(sample.value))) return;
      byTime.set(sample.time, (byTime.get(sample.time) ?? new Set()).add(name));
    });
  }
  return [...byTime].map(([time, tags]) => ({ time, tags }));
}

/**
 * Whether what fell together are the minutes of filters that were changed in one visit: a counter polled with them, which a PLC
 * without its memory would have lost as well, kept its count. Where the booth wasn't watched all the while that must be more than
 * a counter can have come to since.
 */
function areNewFilters(log: BoothLog, { time, tags }: JointFall): boolean {
  const parameters = parametersAt(log, time);
  if (parameters === undefined) return false;
  const kept = Object.entries(parameters.tags).filter(
    ([name, { counter }]) => counter !== undefined && !tags.has(name),
  );
  return [...tags].every((name) => {
    const own = parameters.tags[name];
    const fallen = goodSamplesOf(log, name);
    const before = fallen.findLast((sample) => sample.time < time);
    const now = fallen.find((sample) => sample.time === time);
    if (own?.role !== "filter_minutes" || before === undefined || now === undefined) return false;
    const witnesses = kept.filter(([, { group, counter }]) => group === own.group && isAsDurable(own, counter));
    if (isWatched(log, own.group, [before, time])) return witnesses.some(([witness]) => keepsCount(log, witness, time));
    const dark_ms = before.boot === now.boot ? now.mono - before.mono : time - before.time;
    return witnesses.some(([witness, tag]) => outgrew(log, [witness, time], allowance(tag, parameters, dark_ms)));
  });
}

/** A counter that the PLC keeps over a power cycle says nothing of one that it doesn't. */
function isAsDurable({ counter }: TagParameters, witness: TagParameters["counter"]): boolean {
  return counter?.retained === true || witness?.retained === false;
}

/** It had counted something, and no reading up to that instant is a bad one. */
function keepsCount(log: BoothLog, name: string, time: number): boolean {
  const counted = goodSamplesOf(log, name).findLast((sample) => sample.time < time);
  const newest = samplesOf(log, name).findLast((sample) => sample.time <= time);
  return newest?.good === true && Number(counted?.value ?? 0) > 0;
}

/** It was read at that instant, and what it had counted before is beyond what it can have counted from nothing. */
function outgrew(log: BoothLog, [name, time]: readonly [string, number], most: number): boolean {
  const counted = goodSamplesOf(log, name).findLast((sample) => sample.time < time);
  return (
    Number(counted?.value ?? 0) > most && samplesOf(log, name).some((sample) => sample.time === time && sample.good)
  );
}

/** The group was polled from that sample to that instant, in one boot and without a break. */
function isWatched(log: BoothLog, group: string, [since, until]: readonly [Sample, number]): boolean {
  const bridge_ms = bridgeMs(parametersAt(log, until), group);
  let seen = -Infinity;
  for (const { from, to, boot } of log.covers.get(group) ?? []) {
    if (to < since.time || from > until) continue;
    if (boot !== since.boot || (seen === -Infinity ? from > since.time : from - seen > bridge_ms)) return false;
    seen = Math.max(seen, to);
  }
  return seen >= until - bridge_ms;
}

/** A fall from the top tenth of the range to its bottom tenth. */
function wrapsHere(modulus: number | undefined, before: number, after: number): boolean {
  return modulus !== undefined && before > modulus * 0.9 && after < modulus * 0.1;
}

/** Instants at which a filter's reset button was seen pressed. */
export function coilEdges(log: BoothLog, filter: string): number[] {
  return tagsOfRole(log, "filter_reset")
    .filter(({ tag }) => tag.filter === filter)
    .flatMap(({ name }) => {
      const good = goodSamplesOf(log, name);
      return good
        .filter((sample, i) => i > 0 && isOn(sample.value) && !isOn(good[i - 1]?.value ?? null))
        .map(({ time }) => time);
    });
}
