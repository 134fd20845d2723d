import type { Truth } from "../../../simulators/plc/model/truth.ts";
import type { Span } from "../outcome.ts";
import type { OracleRow } from "./oracle.ts";
import { decidedSince, PAUSE_MS } from "./runs.ts";
import type { Sight } from "./sight.ts";
import { latenessAt } from "./spacings.ts";
import { overlaps, spanText, widened } from "./spans.ts";

/** Counters of filters are polled once a minute, and a change must be seen in two polls. */
const FILTER_MS = 3 * 60_000;

type Seen = Pick<Sight, "blind" | "slack_ms" | "spacings">;

const near = (a: number, b: number, within: number): boolean => Math.abs(a - b) <= within;
const isSure = (span: Span, blind: readonly Span[]): boolean => !blind.some((one) => overlaps(one, span));

interface CycleValue {
  readonly bay: number;
  readonly start: number;
  readonly end: number;
  readonly counted: boolean;
  readonly supersedes?: number;
}

/** Returns the last version of each cycle. */
function lastClaims(rows: readonly OracleRow[]): readonly CycleValue[] {
  const own = rows.flatMap(({ kind, stream, seq, value }) =>
    kind === "c" ? [{ name: `${stream} ${seq}`, stream, value: value as CycleValue }] : [],
  );
  const gone = new Set(own.map(({ stream, value }) => `${stream} ${String(value.supersedes)}`));
  return own.filter(({ name }) => !gone.has(name)).map(({ value }) => value);
}

/**
 * Checks that every cycle observed from start to end is reported once, and that no other cycle is. A cycle is certain
 * after the pause that follows it.
 */
export function cycleFaults(
  truth: Pick<Truth, "cycles" | "stages" | "from" | "to">,
  rows: readonly OracleRow[],
  seen: Seen,
): string[] {
  const { blind, slack_ms, spacings } = seen;
  const told = lastClaims(rows);
  const watched = (cycle: Span): boolean =>
    isSure(
      widened({ start: decidedSince(truth, cycle.start), end: cycle.end }, PAUSE_MS, PAUSE_MS + 2 * slack_ms),
      blind,
    ) &&
    cycle.start - PAUSE_MS >= truth.from &&
    cycle.end + 2 * PAUSE_MS < truth.to;
  // A transition must be reported by the next poll.
  const isShown = (told_at: number, at: number): boolean =>
    at - slack_ms <= told_at && told_at <= at + latenessAt(spacings, at, slack_ms);
  const isSame = (one: CycleValue, cycle: Span & { readonly counted: boolean }): boolean =>
    isShown(one.start, cycle.start) && isShown(one.end, cycle.end) && one.counted === cycle.counted;
  // A cycle whose start was not seen may be reported as a shorter cycle with the same end.
  const isRest = (one: CycleValue, cycle: Span): boolean =>
    !isSure(cycle, blind) && cycle.start < one.start && isShown(one.end, cycle.end);
  return [
    ...truth.cycles.filter(watched).flatMap((cycle) => {
      const times = told.filter((one) => isSame(one, cycle)).length;
      return times === 1 ? [] : [`cycle ${spanText(cycle)}: told ${times} times`];
    }),
    ...told
      .filter((one) => watched(one) && !truth.cycles.some((cycle) => isSame(one, cycle) || isRest(one, cycle)))
      .map((one) => `cycle ${spanText(one)}: told, and there was none`),
  ];
}

interface FilterValue {
  readonly filter: string;
  readonly source: string;
  readonly installed_at: number;
}

/**
 * Checks that every filter change in observed time is reported, and that every reported change of a PLC's counter
 * happened.
 */
export function filterFaults(
  truth: Pick<Truth, "filters" | "from" | "to">,
  rows: readonly OracleRow[],
  seen: Seen,
): string[] {
  const told = rows.flatMap(({ kind, value }) => (kind === "f" ? [value as FilterValue] : []));
  const changes = Object.entries(truth.filters).flatMap(([filter, installations]) =>
    installations.map(({ installed_at }) => ({ filter, installed_at })),
  );
  const isSame = (a: Pick<FilterValue, "filter" | "installed_at">, b: typeof a): boolean =>
    a.filter === b.filter && near(a.installed_at, b.installed_at, FILTER_MS);
  const watched = ({ installed_at }: Pick<FilterValue, "installed_at">): boolean =>
    installed_at - FILTER_MS >= truth.from &&
    installed_at + FILTER_MS < truth.to &&
    isSure(widened({ start: installed_at, end: installed_at }, FILTER_MS, FILTER_MS), seen.blind);
  const text = ({ filter, installed_at }: Pick<FilterValue, "filter" | "installed_at">): string =>
    `${filter} of ${new Date(installed_at).toISOString()}`;
  return [
    ...changes
      .filter((change) => watched(change) && !told.some((one) => isSame(one, change)))
      .map((change) => `${text(change)}: changed, and nobody told`),
    ...told
      .filter((one) => one.source === "plc_reset" && watched(one) && !changes.some((change) => isSame(one, change)))
      .map((one) => `${text(one)}: told, and it wasn't changed`),
  ];
}

/** Checks that each reported program ran. */
export function programFaults(truth: Pick<Truth, "revisions">, programs: readonly string[]): string[] {
  const ran: readonly string[] = truth.revisions.map(({ plc_program_revision }) => plc_program_revision);
  return programs.filter((version) => !ran.includes(version)).map((version) => `program ${version}: it never ran`);
}
