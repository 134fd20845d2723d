import type { LogEnd, TakenEntry } from "../../src/domain/taken.ts";
import type { Booth } from "../../simulators/plc/model/booth.ts";
import type { Profile } from "../../src/domain/profile.ts";

/** An entry that the agent appended to its tail, with the true instant. */
export interface Take {
  readonly at: number;
  readonly entry: TakenEntry;
}

/** Everything that agents have taken, kept outside of them. */
export interface Ledger {
  /** Takes in order, without those lost by a power cut or damage. */
  readonly takes: Take[];
  /** Takes that a replaced gateway hadn't delivered completely. */
  readonly gone: Set<Take>;
  /** Takes that the agent itself has reported as durable, by stream. */
  readonly durable: Map<string, number>;
  /** Broken laws found during the story, as sentences. */
  readonly broken: string[];
}

export function openLedger(): Ledger {
  return { takes: [], gone: new Set(), durable: new Map(), broken: [] };
}

export function noteDurable({ durable }: Ledger, stream: string, take: number): void {
  durable.set(stream, Math.max(take, durable.get(stream) ?? 0));
}

/** Whether a take's mode is the PLC's mode at that instant. */
export function isWhatThePlcSaid(profile: Profile, booth: Booth, { at, entry }: Take): boolean {
  if (entry.kind !== "poll") return true;
  const tag = profile.tags.find(({ role }) => role === "mode")?.name;
  return entry.changes.every(
    ([name, value, quality]) =>
      name !== tag || quality === "bad" || profile.modes[String(value)] === booth.stateAt(at).mode,
  );
}

/**
 * The state that a new process found: the last committed take of the stream, the last instant of its log, and the takes
 * in its tail.
 */
interface Found {
  readonly stream: string;
  readonly last_take: number;
  readonly end: LogEnd | null;
  readonly left: ReadonlySet<number>;
}

/**
 * Compares the takes of a stream with the state that a new process found: `last_take` in the store and `left` in the
 * tail. Takes in neither are lost. Only a power cut may lose takes, and no durable ones. Losses by a damaged file are
 * judged by the agent's gap records.
 */
export function noteFound(
  ledger: Ledger,
  found: Found,
  { is_cut, is_damaged }: { readonly is_cut: boolean; readonly is_damaged: boolean },
): void {
  const { stream, last_take, left } = found;
  if (is_damaged || last_take === 0) beginAnew(ledger, found);
  const gone = ledger.takes.filter(
    ({ entry }) => entry.stream === stream && entry.take > last_take && !left.has(entry.take),
  );
  if (gone.length === 0) return;
  const durable = ledger.durable.get(stream) ?? 0;
  for (const take of gone) {
    ledger.takes.splice(ledger.takes.indexOf(take), 1);
    const name = `take ${take.entry.take} of ${new Date(take.at).toISOString()}`;
    if (is_damaged) continue;
    if (take.entry.take <= durable) ledger.broken.push(`what was called durable is stored: ${name} isn't`);
    else if (!is_cut) ledger.broken.push(`a process's end takes nothing that was taken: ${name} is gone`);
  }
}

/**
 * Starts counting takes again if a damaged file has lost its last take. The agent declares the durable takes that it
 * lost. A commit that was never reported may or may not be in the log.
 */
function beginAnew({ takes, durable }: Ledger, { stream, last_take, end, left }: Found): void {
  const settled = durable.get(stream) ?? 0;
  if (last_take > 0 && last_take >= settled) return;
  const isHeld = (entry: TakenEntry): boolean => {
    const { boot, mono } = entry.kind === "poll" ? entry : entry.record;
    return boot === end?.boot && mono <= end.mono;
  };
  for (const [i, { at, entry }] of takes.entries())
    if (entry.stream === stream && (entry.take <= settled || isHeld(entry)) && !left.has(entry.take))
      takes[i] = { at, entry: { ...entry, take: 0 } };
  durable.set(stream, last_take);
}
