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
import { expectFacts, hashOf, storedFacts } from "../support/fact-trace.ts";
import { openSource } from "../support/figures.ts";
import { memoryFolder } from "../support/temporary.ts";
import { virtualSite, type VirtualSite } from "../support/virtual-site.ts";
import { expectedSpans, type ExpectedSpan, type Outage } from "./expected.ts";
import { allOfGateway, allOfService, contrast, type AllFigures } from "./figures.ts";
import { boxAnswers, questions, serviceAnswers, unequal } from "./operations.ts";
import { rebuildDiffers } from "./rebuild.ts";
import { judgeRecords } from "./records.ts";
import { answersAfterRedelivery } from "./redelivery.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

/** Interval of commits and heartbeats. Rare ones halve the time of a test; urgent records are still committed at once. */
const INTERVAL_MS = 10 * MINUTE_MS;
/** Time after the story in which everything becomes final and acked. */
const AFTERMATH_MS = 35 * MINUTE_MS;
/** Longest wait between two connection attempts, plus a call's timeout and a poll. */
const RETURN_MS = 7_500;
/** Deadband of the profile's temperatures, and what the air changes by between two polls of the slow group. */
const PROFILE_CELSIUS = 2.5;
/** Start and end of an episode of overuse. */
const OVERUSE_BORDERS = 2;

export interface PlayOptions {
  readonly scenario: string | Scenario;
  /** Name of the story's line in test/golden; default: the scenario's name, or no line if `unlisted`. */
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
  /** Changes the site before the agent starts. */
  readonly arrange?: (site: VirtualSite) => void;
  /** Changes the site after its start. The rest of the hours passes afterwards. */
  readonly during?: (site: VirtualSite) => Promise<void>;
  /** Results of the cycles as the gateway can know them; default: the true ones. */
  readonly results?: readonly string[];
  /** Expected validation incidents, as "check tag", by start; default: none. */
  readonly incidents?: readonly string[] | ((found: readonly string[]) => readonly string[]);
  /** True for a random story, whose facts are not known. */
  readonly drawn?: boolean;
  /** True skips the comparison of counts and incidents with the truth. */
  readonly unlisted?: boolean;
  /** Outages in addition to the story's. */
  readonly outages?: (booth: Booth) => readonly Outage[];
}

/** A finished story: the site, the truth of the PLC model, and the gateway's figures. */
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
 * Plays a story under virtual time and checks what must hold for every story: each transition within a poll of the truth, modes in order,
 * the true cycles and filter changes, the same figures in gateway and service, and no change by a rebuild from the log.
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
    const { name, scenario } = options;
    const known = name ?? (typeof scenario === "string" ? scenario : scenario.name);
    expectFacts(known, storedFacts(folder), hashOf(played.figures));
  }
  await judge(options, played);
  return played;
}

async function judge(options: PlayOptions, played: Played): Promise<void> {
  const { site, folder, window, source, expected, figures } = played;
  const spans = timeLineOf(source, window).spans;
  const poll_ms = options.booth?.poll?.["fast"]?.poll_interval_ms ?? 1_000;
  const errors = expected.map(({ start, sight }, index) => ({ sight, ms: (spans[index]?.start ?? NaN) - start }));
  const worst = (sights: readonly string[]): number =>
    Math.max(0, ...errors.filter(({ sight }) => sights.includes(sight)).map(({ ms }) => Math.abs(ms)));
  const asked = questions(window);
  const answers = await serviceAnswers(site.service, asked);
  expect(contrast(figures, allOfService(site, window))).toEqual([]);
  expect(unequal(asked, boxAnswers(source, asked), answers)).toEqual([]);
  expect(unequal(asked, await answersAfterRedelivery(site, window), answers)).toEqual([]);
  expect(rebuildDiffers(folder)).toEqual([]);
  expect(spans.map(({ mode }) => mode)).toEqual(expected.map(({ mode }) => mode));
  expect(worst(["seen", "lost"])).toBeLessThanOrEqual(poll_ms);
  expect(worst(["back"])).toBeLessThanOrEqual(RETURN_MS);
  if (options.unlisted === true) return;
  judgeCounts(options, poll_ms, played);
  // An outage hides part of a bake, so the record can't equal the truth.
  if (options.outages === undefined && played.truth.outages.length === 0 && site.booth.bays.length === 0) {
    judgeRecords(site.booth, played, { border_ms: poll_ms, celsius: PROFILE_CELSIUS });
  }
  const found = validationIncidents(source, window).map(({ check, tag_name }) => `${check} ${tag_name}`);
  const { incidents = [] } = options;
  expect(found).toEqual(typeof incidents === "function" ? incidents(found) : incidents);
}

/** Compares everything that is counted with the truth. */
function judgeCounts(options: PlayOptions, poll_ms: number, { site, source, window, truth, figures }: Played): void {
  expect(figures.cycles.map(resultOf)).toEqual(options.results ?? truth.cycles.map(resultOf));
  for (const [index, { start, end, result }] of figures.cycles.entries()) {
    if (result === "indeterminate") continue;
    expect(Math.abs(start - (truth.cycles[index]?.start ?? NaN))).toBeLessThanOrEqual(poll_ms);
    expect(Math.abs(end - (truth.cycles[index]?.end ?? NaN))).toBeLessThanOrEqual(poll_ms);
  }
  const changes = Object.values(truth.filters).flatMap((installations) =>
    installations.filter(({ removed }) => removed !== null && removed >= window.start),
  );
  expect(filterMaintenanceHistory(source, window)).toHaveLength(changes.length);
  expect(figures.revisions).toHaveLength(revisionsOf(site.booth, window));
  expect(figures.overuse_cycles).toBe(truth.overuse.cycles);
  // Overuse begins within a poll of the limit, and each border of time in use is seen within a poll.
  expect(Math.abs(overuse(source, window).overuse_ms - truth.overuse.ms)).toBeLessThanOrEqual(
    poll_ms * truth.overuse.episodes * OVERUSE_BORDERS,
  );
  expect(wholeMinutes(figures.overuse_ms)).toBe(wholeMinutes(truth.overuse.ms));
}

function wholeMinutes(ms: number): number {
  return Math.round(ms / MINUTE_MS);
}

/** Returns the result of a cycle as text. */
export function resultOf({ result, reason }: { readonly result: string; readonly reason: string }): string {
  return reason === "" ? result : `${result}(${reason})`;
}

/** Counts the versions of firmware and program that a gateway sees, including those at first contact. */
function revisionsOf(booth: Booth, { start, end }: Window): number {
  const all = booth.truth(booth.origin, end).revisions;
  const found = all.findLastIndex(({ at }) => at <= start);
  const seen = all.slice(Math.max(0, found));
  const changes = (text: (revision: (typeof seen)[number]) => string): number =>
    seen.filter((revision, index) => index === 0 || text(revision) !== text(seen[index - 1] ?? revision)).length;
  const program = changes(({ plc_program, plc_program_revision }) => `${plc_program} ${plc_program_revision}`);
  return changes(({ firmware_version }) => firmware_version) + program;
}
