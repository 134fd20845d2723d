import { expect } from "vitest";
import type { Profile } from "../../src/domain/profile.ts";
import type { BoothConfig } from "../../src/config/port.ts";
import type { Booth } from "../../simulators/plc/model/booth.ts";
import type { Scenario } from "../../simulators/plc/model/scenario.ts";
import type { Truth } from "../../simulators/plc/model/truth.ts";
import type { Window } from "../../src/store/port.ts";
import { filterMaintenanceHistory } from "../../src/reports/filters.ts";
import { overuse } from "../../src/reports/overuse.ts";
import { validationIncidents } from "../../src/reports/findings.ts";
import { timeLineOf, type Source } from "../../src/reports/source.ts";
import type { Facility } from "../support/virtual-service.ts";
import { expectKnown, hashOf, storedFacts, traceOf } from "../support/fact-trace.ts";
import { openSource } from "../support/figures.ts";
import { memoryFolder } from "../support/temporary.ts";
import { virtualSite, type VirtualSite } from "../support/virtual-site.ts";
import { expectedSpans, type ExpectedSpan, type Outage } from "./expected.ts";
import { allOfGateway, allOfService, contrast, differences, type AllFigures } from "./figures.ts";
import { boxAnswers, questions, serviceAnswers, unequal } from "./operations.ts";
import { rebuildDiffers } from "./rebuild.ts";
import { answersAfterRedelivery } from "./redelivery.ts";
import { recordScore, type Score } from "./score.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

/** Commits and heartbeats each so often play days in half the time: urgent records are committed at once as ever. */
const INTERVAL_MS = 10 * MINUTE_MS;
/** What lies before the end of the story is final and acked by then. */
const AFTERMATH_MS = 35 * MINUTE_MS;
/** The widest wait between two tries to connect, a call's own time-out, and a poll. */
const RETURN_MS = 7_500;
/** Its begin and its end. */
const OVERUSE_BORDERS = 2;

export interface PlayOptions {
  /** Number in the domain's list of scenarios. */
  readonly number: number;
  readonly scenario: string | Scenario;
  /** In the table, where the scenario's own name isn't enough; of an unlisted story: its facts have a line in test/golden. */
  readonly name?: string;
  readonly start: number;
  readonly hours: number;
  readonly seed?: number;
  readonly uptime_ms?: number;
  readonly profile?: Profile;
  readonly booth?: Partial<BoothConfig>;
  readonly facility?: Partial<Facility>;
  /** Default: ten minutes. */
  readonly commit_interval_ms?: number;
  /** What the box is like before the agent starts. */
  readonly arrange?: (site: VirtualSite) => void;
  /** What happens to the site on the way, from its start on; the rest of the hours passes afterwards. */
  readonly during?: (site: VirtualSite) => Promise<void>;
  /** How the cycles end in the eyes of who couldn't see everything; default: as in truth. */
  readonly results?: readonly string[];
  /** Validation incidents that the story must lead to, as "check tag", by their first sight; default: none. */
  readonly incidents?: readonly string[] | ((found: readonly string[]) => readonly string[]);
  /** It goes otherwise each time, so nobody knows its facts beforehand. */
  readonly drawn?: boolean;
  /** Not a line of the table. */
  readonly unlisted?: boolean;
  /** Silences that the story itself doesn't have. */
  readonly outages?: (booth: Booth) => readonly Outage[];
}

/** A story that is over, as the three sides have it. */
export interface Played {
  readonly site: VirtualSite;
  readonly folder: string;
  readonly window: Window;
  readonly truth: Truth;
  readonly source: Source;
  readonly expected: readonly ExpectedSpan[];
  readonly figures: AllFigures;
  readonly close: () => void;
}

/**
 * Plays a story under virtual time, and holds what every story must hold: each transition within a poll of the truth,
 * modes in order, cycles and filter changes as they were, gateway and service equal, a rebuild from the log equal.
 */
export async function play(options: PlayOptions): Promise<Played> {
  const folder = memoryFolder();
  const { start } = options;
  const site = virtualSite({
    ...options,
    folder,
    commit_interval_ms: options.commit_interval_ms ?? INTERVAL_MS,
    summary_interval_ms: INTERVAL_MS,
    heartbeat_interval_ms: INTERVAL_MS,
  });
  options.arrange?.(site);
  await site.start();
  await options.during?.(site);
  const window = { start, end: start + options.hours * 60 * MINUTE_MS };
  await site.clock.run(window.end + AFTERMATH_MS - site.clock.truth());
  await site.stop();
  expect(site.lines.filter((line) => line.startsWith("FAILED"))).toEqual([]);
  const { source, close } = openSource(folder, site.clock.truth());
  const truth = site.booth.truth(window.start, window.end);
  const played = {
    site,
    folder,
    window,
    truth,
    source,
    expected: expectedSpans(site.booth, window, options.outages?.(site.booth)),
    figures: allOfGateway(source, window),
    close: () => {
      close();
      site.close();
    },
  };
  if (options.drawn !== true && (options.unlisted !== true || options.name !== undefined)) {
    expectKnown(nameOf(options), `${traceOf(storedFacts(folder))} ${hashOf(played.figures)}`);
  }
  await judge(options, played);
  return played;
}

function nameOf({ name, scenario }: PlayOptions): string {
  return name ?? (typeof scenario === "string" ? scenario : scenario.name);
}

async function judge(
  options: PlayOptions,
  { site, folder, window, truth, source, expected, figures }: Played,
): Promise<void> {
  const spans = timeLineOf(source, window).spans;
  const poll_ms = options.booth?.poll?.["fast"]?.poll_interval_ms ?? 1_000;
  const errors = expected.map(({ start, sight }, index) => ({ sight, ms: (spans[index]?.start ?? NaN) - start }));
  const worst = (sights: readonly string[]): number =>
    Math.max(0, ...errors.filter(({ sight }) => sights.includes(sight)).map(({ ms }) => Math.abs(ms)));
  const service = allOfService(site, window);
  const service_differs = differences(figures, service);
  const filterChanges = Object.values(truth.filters).flatMap((installations) =>
    installations.filter(({ removed }) => removed !== null && removed >= window.start),
  );
  const asked = questions(window);
  const answers = await serviceAnswers(site.service, asked);
  const differing = unequal(asked, boxAnswers(source, asked), answers);
  const differing_late = unequal(asked, await answersAfterRedelivery(site, window), answers);
  const found = validationIncidents(source, window).map(({ check, tag_name }) => `${check} ${tag_name}`);
  const score: Score = {
    number: options.number,
    scenario: nameOf(options),
    transitions: expected.length - 1,
    max_error_ms: worst(["seen", "lost"]),
    back_error_ms: worst(["back"]),
    poll_ms,
    cycles: [figures.cycles.length, truth.cycles.length],
    filters: [filterMaintenanceHistory(source, window).length, filterChanges.length],
    overuse_error_ms: overuse(source, window).overuse_ms - truth.overuse.ms,
    revisions: [figures.revisions.length, revisionsOf(site.booth, window)],
    incidents: [found.length, incidentsOf(options, found).length],
    service_differs,
    answers: [asked.length - differing.length, asked.length],
    answers_late: [asked.length - differing_late.length, asked.length],
  };
  if (options.unlisted !== true) recordScore(score);
  expect(contrast(figures, service)).toEqual([]);
  expect(differing).toEqual([]);
  expect(differing_late).toEqual([]);
  expect(rebuildDiffers(folder)).toEqual([]);
  expect(spans.map(({ mode }) => mode)).toEqual(expected.map(({ mode }) => mode));
  expect(worst(["seen", "lost"])).toBeLessThanOrEqual(poll_ms);
  expect(worst(["back"])).toBeLessThanOrEqual(RETURN_MS);
  if (options.unlisted === true) return;
  judgeCounts(options, score, { truth, figures });
  expect(found).toEqual(incidentsOf(options, found));
}

function incidentsOf({ incidents = [] }: PlayOptions, found: readonly string[]): readonly string[] {
  return typeof incidents === "function" ? incidents(found) : incidents;
}

/** Everything that is counted is exact. */
function judgeCounts(options: PlayOptions, score: Score, { truth, figures }: Pick<Played, "truth" | "figures">): void {
  expect(figures.cycles.map(resultOf)).toEqual(options.results ?? truth.cycles.map(resultOf));
  for (const [index, { start, end, result }] of figures.cycles.entries()) {
    if (result === "indeterminate") continue;
    expect(Math.abs(start - (truth.cycles[index]?.start ?? NaN))).toBeLessThanOrEqual(score.poll_ms);
    expect(Math.abs(end - (truth.cycles[index]?.end ?? NaN))).toBeLessThanOrEqual(score.poll_ms);
  }
  expect(score.filters[0]).toBe(score.filters[1]);
  expect(score.revisions[0]).toBe(score.revisions[1]);
  expect(figures.overuse_cycles).toBe(truth.overuse.cycles);
  // Overuse begins within a poll of the limit, and each border of time in use is seen within a poll.
  expect(Math.abs(score.overuse_error_ms)).toBeLessThanOrEqual(
    score.poll_ms * truth.overuse.episodes * OVERUSE_BORDERS,
  );
  expect(wholeMinutes(figures.overuse_ms)).toBe(wholeMinutes(truth.overuse.ms));
}

function wholeMinutes(ms: number): number {
  return Math.round(ms / MINUTE_MS);
}

/** A cycle's end in words. */
export function resultOf({ result, reason }: { readonly result: string; readonly reason: string }): string {
  return reason === "" ? result : `${result}(${reason})`;
}

/** How many versions of firmware and program a gateway comes to see, those found at first contact included. */
function revisionsOf(booth: Booth, { start, end }: Window): number {
  const all = booth.truth(booth.origin, end).revisions;
  const found = all.findLastIndex(({ at }) => at <= start);
  const seen = all.slice(Math.max(0, found));
  const changes = (text: (revision: (typeof seen)[number]) => string): number =>
    seen.filter((revision, index) => index === 0 || text(revision) !== text(seen[index - 1] ?? revision)).length;
  const program = changes(({ plc_program, plc_program_revision }) => `${plc_program} ${plc_program_revision}`);
  return changes(({ firmware_version }) => firmware_version) + program;
}
