import type { LogEnd, TakenEntry } from "../../src/domain/taken.ts";
import type { Booth } from "../../simulators/plc/model/booth.ts";
import type { Profile } from "../../src/domain/profile.ts";

/** One take: what the agent appended to its tail, and when in truth. */
export interface Take {
  readonly at: number;
  readonly entry: TakenEntry;
}

/** Everything that agents have taken in, kept outside of them. */
export interface Ledger {
  /** In order of taking; without what a power cut or damage took away. */
  readonly takes: Take[];
  /** What a gateway that was taken away hadn't delivered whole. */
  readonly gone: Set<Take>;
  /** Takes that the agent itself has called durable, by stream. */
  readonly durable: Map<string, number>;
  /** Laws broken on the way, as sentences. */
  readonly broken: string[];
}

export function openLedger(): Ledger {
  return { takes: [], gone: new Set(), durable: new Map(), broken: [] };
}

export function noteDurable({ durable }: Ledger, stream: string, take: number): void {
  durable.set(stream, Math.max(take, durable.get(stream) ?? 0));
}

/** What a PLC's program shows for the mode at that instant, in the profile's words. */
export function isWhatThePlcSaid(profile: Profile, booth: Booth, { at, entry }: Take): boolean {
  if (entry.kind !== "poll") return true;
  const tag = profile.tags.find(({ role }) => role === "mode")?.name;
  return entry.changes.every(
    ([name, value, quality]) =>
      name !== tag || quality === "bad" || profile.modes[String(value)] === booth.stateAt(at).mode,
  );
}

/** How far a new process finds its stream committed, the last instant of its log, and which takes its tail still has. */
interface Found {
  readonly stream: string;
  readonly last_take: number;
  readonly end: LogEnd | null;
  readonly left: ReadonlySet<number>;
}

/**
 * What a damaged file takes with it is judged by what the agent declares.
 *
 * A new process has found `last_take` in the store and `left` in the tail: what is in neither is gone. Only a loss of power may take
 * anything away, and nothing that was durable.
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
 * Where a damaged file doesn't know how far it was, takes are counted from there anew; what it lost of the durable ones it declares. A
 * commit that nobody was told of any more stands in its log or not.
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
