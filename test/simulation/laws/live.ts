import { CODEC } from "../outputs/plant.ts";
import type { PlantEvent } from "../outputs/broker.ts";
import type { OutputLook, Side } from "../outputs/plant.ts";
import type { FieldState } from "../field/state.ts";
import type { Take } from "../ledger.ts";

/**
 * While no clock is confirmed, outputs still publish live values and mark them: plain MQTT as uncertain, Sparkplug by a
 * metric Clock/Confirmed that is false. Once the clock is confirmed, the current values are published again.
 */

/** Time in addition to a commit: the longest pause between two connects, and the delay of a slow line. */
const TOLD_MS = 3 * 60_000;
/** Time until the clock is confirmed and another commit has placed the waiting records. */
const CONFIRMED_MS = 5 * 60_000;
/** Time after the confirmation in which the values are checked. */
const LOOKED_MS = 60 * 60_000;

/** Tags of few values, which a deadband can't hide. */
const DISCRETE = new Set(["mode", "fault_code", "cycle_count", "burner_on", "fan_on", "door_open"]);
const CLOCK = "Clock/Confirmed";

export interface LiveLook {
  readonly side: Side;
  /** Messages of that gateway's output, in order. */
  readonly events: readonly PlantEvent[];
  readonly takes: readonly Take[];
  readonly unconfirmed: FieldState["unconfirmed"];
  readonly commit_interval_ms: number;
}

interface Told {
  readonly at: number;
  readonly name: string;
  readonly value: unknown;
  /** Quality in plain MQTT or Sparkplug; undefined: the message has none. */
  readonly quality: unknown;
}

type When = "unconfirmed" | "confirmed" | null;

export function liveFaults(live: LiveLook): readonly string[] {
  const { side, events, takes } = live;
  if (live.unconfirmed.length === 0) return [];
  const told = side.output.kind === "sparkplug" ? sparkplugTold(events) : plainTold(events);
  const byName = Map.groupBy(told, ({ name }) => name);
  const taken = takenByTag(takes);
  const within_ms = live.commit_interval_ms + TOLD_MS;
  return side.looks.flatMap((look) => {
    const when = whenOf(look, live);
    if (when === null || look.at - look.well_since <= within_ms) return [];
    const lastOf = (name: string): Told | undefined => byName.get(name)?.findLast(({ at }) => at <= look.at);
    const faults = [...taken].flatMap(([tag, all]) => tagFaults({ tag, all, last: lastOf(tag) }, { look, when, live }));
    return [...faults, ...clockFaults(lastOf(CLOCK), when, side)].map(
      (fault) => `${new Date(look.at).toISOString()} ${fault}`,
    );
  });
}

/**
 * Whether an output must have published by now that the clock is, or isn't, confirmed; null: it is too soon to decide.
 */
function whenOf({ at }: OutputLook, { unconfirmed, commit_interval_ms }: LiveLook): When {
  const within_ms = commit_interval_ms + TOLD_MS;
  for (const { from, to } of unconfirmed) {
    if (at > from + within_ms && at < (to ?? Infinity)) return "unconfirmed";
    const confirmed = (to ?? Infinity) + within_ms + commit_interval_ms + CONFIRMED_MS;
    if (at > confirmed && at < confirmed + LOOKED_MS) return "confirmed";
  }
  return null;
}

interface TakenValue {
  readonly at: number;
  readonly value: unknown;
}

/** Returns the taken values of each tag, in order. */
function takenByTag(takes: readonly Take[]): ReadonlyMap<string, readonly TakenValue[]> {
  const taken = new Map<string, TakenValue[]>();
  for (const { at, entry } of takes) {
    if (entry.kind !== "poll") continue;
    for (const [tag, value] of entry.changes) {
      const known = taken.get(tag);
      if (known === undefined) taken.set(tag, [{ at, value }]);
      else known.push({ at, value });
    }
  }
  return taken;
}

interface OfTag {
  readonly tag: string;
  readonly all: readonly TakenValue[];
  readonly last: Told | undefined;
}

function tagFaults(
  { tag, all, last }: OfTag,
  {
    look,
    when,
    live,
  }: { readonly look: OutputLook; readonly when: "unconfirmed" | "confirmed"; readonly live: LiveLook },
): readonly string[] {
  const until = look.at - live.commit_interval_ms - TOLD_MS;
  const due = all.findLast(({ at }) => at <= until);
  const isBare = live.side.output.kind !== "sparkplug" && live.side.output.payload === "value";
  if (due === undefined || (isBare && due.value === null)) return [];
  if (last === undefined || last.at < due.at)
    return [`${tag} is frozen: ${String(due.value)} was read at ${dateOf(due.at)}, and nothing was told since`];
  const faults: string[] = [];
  const isSettled = all.every(({ at }) => at <= until || at > look.at);
  if (isSettled && DISCRETE.has(tag) && String(last.value) !== String(due.value))
    faults.push(`${tag} is told as ${String(last.value)}, and is ${String(due.value)}`);
  if (live.side.output.kind === "sparkplug" || isBare || last.value === null) return faults;
  const quality = when === "unconfirmed" ? "uncertain" : "good";
  if (last.quality !== quality) faults.push(`${tag} is ${String(last.quality)} while the clock is ${when}`);
  return faults;
}

function clockFaults(last: Told | undefined, when: "unconfirmed" | "confirmed", { output }: Side): readonly string[] {
  if (output.kind !== "sparkplug") return [];
  const confirmed = when === "confirmed";
  return last?.value === confirmed ? [] : [`${CLOCK} is ${String(last?.value)} while the clock is ${when}`];
}

function plainTold(events: readonly PlantEvent[]): readonly Told[] {
  return events.flatMap((event): readonly Told[] => {
    if (event.kind !== "message") return [];
    const { topic, payload } = event.message;
    const [, name] = /^booths\/booth-1\/tags\/(.+)$/.exec(topic) ?? [];
    if (name === undefined) return [];
    const text = payload.toString();
    if (!text.startsWith("{")) return [{ at: event.at, name, value: text, quality: undefined }];
    const { value, quality } = JSON.parse(text) as { readonly value: unknown; readonly quality: unknown };
    return [{ at: event.at, name, value, quality }];
  });
}

function sparkplugTold(events: readonly PlantEvent[]): readonly Told[] {
  const names = new Map<string, string>();
  return events.flatMap((event): readonly Told[] => {
    if (event.kind !== "message" || !/\/D(BIRTH|DATA)\//.test(event.message.topic)) return [];
    const { metrics } = CODEC.decodePayload(Buffer.from(event.message.payload));
    return metrics.flatMap(({ name = "", alias, value }): readonly Told[] => {
      if (name !== "") names.set(String(alias), name);
      const known = names.get(String(alias)) ?? "";
      return [{ at: event.at, name: known.replace(/^Tags\//, ""), value, quality: undefined }];
    });
  });
}

function dateOf(at: number): string {
  return new Date(at).toISOString();
}
