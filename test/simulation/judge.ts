import { boothFigures } from "../../simulators/service/figures/booth.ts";
import { findProfile } from "../../src/config/profile.ts";
import { KIND } from "../../src/domain/record.ts";
import { timeLineOf } from "../../src/reports/source.ts";
import { allOfGateway, allOfService, contrast } from "../scenarios/figures.ts";
import { openSource } from "../support/figures.ts";
import { ownRecords } from "../support/store.ts";
import { checkOutcome } from "./checker.ts";
import { inventedAtService, missingAtService } from "./laws/delivered.ts";
import { setAsideForNothing, tooManyStreams, wrongTimes } from "./laws/lied-to.ts";
import { isMadeAgain } from "./laws/made-again.ts";
import { liveFaults } from "./laws/live.ts";
import { outputFaults } from "./laws/outputs.ts";
import type { Given } from "./outputs/plant.ts";
import { untiled, wrongSpans, type ModeSpan, type Rules } from "./laws/time-line.ts";
import { givenUp, heldRecords } from "./records.ts";
import type { Fault, Story } from "./story.ts";
import type { Played } from "./run.ts";
import { declaredSpans, modePolls, modeTagOf } from "./seen.ts";

/** A law that was broken, with some of the places. */
export interface Broken {
  readonly law: string;
  readonly places: readonly string[];
}

/** Maximum number of places reported for a broken law. */
const MOST_PLACES = 5;
/** A gap of up to three polls, or of 15 s if that is longer, is bridged. */
const LEAST_BRIDGE_MS = 15_000;
/** Error of a clock that only the service corrected over a slow line. */
const CLOCK_MS = 4_000;

/** Checks every law for a finished story. Returns the broken laws. */
export function judge(played: Played): readonly Broken[] {
  const { ledger, outcome, boxes, swaps } = played;
  const { window, story } = outcome;
  const held = heldRecords(outcome.service.db);
  const takes = ledger.takes;
  // Readings of the quiet time may still be in transit.
  const given_up = givenUp(outcome.service.db);
  const declared = declaredSpans(held, given_up);
  const isDeclared = (at: number): boolean =>
    declared.some(({ start, end }) => start - CLOCK_MS <= at && at <= end + CLOCK_MS);
  const due = takes.filter((take) => take.at <= window.end && !isDeclared(take.at) && !ledger.gone.has(take));
  const profile = findProfile(story.profile);
  const polls = modePolls(
    profile,
    takes.filter((take) => !ledger.gone.has(take)),
  );
  const rules: Rules = {
    ...window,
    bridge_ms: Math.max(LEAST_BRIDGE_MS, 3 * story.poll_ms),
    slack_ms: story.poll_ms + CLOCK_MS,
    unsure: [...outcome.unsure, ...declaredSpans(held, given_up, modeTagOf(profile))],
  };
  // The last gateway has observed the booth since the last swap.
  const seen = { start: Math.max(window.start, ...swaps.map(({ at }) => at)), end: window.end };
  const now = window.end;
  const service = clipped(boothFigures(outcome.service.db, "b-1", now).stages, window);
  const results: readonly (readonly [string, readonly string[]])[] = [
    ["on the way", ledger.broken],
    ["everything that was taken is with the service", missingAtService(due, held)],
    ["the service holds nothing that wasn't taken", inventedAtService(takes, held)],
    ["the service's time line is what the polls showed", wrongSpans(polls, service, rules)],
    ["the service's modes make up the window", untiled(service, window)],
    ["a reading's time is when it was read", wrongTimes(takes, held, { unsure: outcome.unsure, slack_ms: CLOCK_MS })],
    ["a log goes by one name, or two", tooManyStreams(outcome.service.db, namesOf(story))],
    ...boxes
      .slice(-1)
      .map(
        ({ folder, site }) =>
          [
            "nothing is set aside that the service takes",
            setAsideForNothing(folder, site.service.way.refused),
          ] as const,
      ),
    ["outputs keep their word", ofOutputs(played)],
    ["outputs tell live values whether or not the clock is confirmed", ofLiveValues(played)],
    ["an account of its own, from PLC and service alone, agrees", checkOutcome(outcome)],
    ...(declared.length > 0 ? [] : bothSides(played)),
    ...boxes.slice(-1).flatMap(({ folder }) => {
      // If flipped bits also destroyed records of the log, facts can't be rebuilt. They are missing then, and no data
      // is shown instead.
      const isKnown = isMadeAgain(folder) ? () => true : ({ mode }: ModeSpan) => mode !== "no_data";
      const { source, close } = openSource(folder, outcome.truth.to + 3_600_000);
      const { spans } = timeLineOf(source, seen);
      close();
      return [
        [
          "the gateway's time line is what the polls showed",
          wrongSpans(polls, spans.filter(isKnown), { ...rules, ...seen }),
        ],
        ["the gateway's modes make up the window", untiled(spans, seen)],
      ] as const;
    }),
  ];
  return results
    .filter(([, places]) => places.length > 0)
    .map(([law, places]) => ({ law, places: [...places.slice(0, MOST_PLACES), ...more(places.length)] }));
}

/** Compares the outputs' messages with the log that they read. */
function ofOutputs({ plant, boxes, outcome, ledger }: Played): readonly string[] {
  const box = boxes.at(-1);
  if (plant.sides.length === 0 || box === undefined) return [];
  const { stream, records } = ownRecords(box.folder);
  const log = records.flatMap((record): readonly Given[] => {
    if (record.kind !== KIND.reading) return [];
    const { seq, tag, time, boot, mono, value } = record;
    return [{ stream, seq, tag, time, boot, mono, value: JSON.stringify(value) }];
  });
  const taken = new Map(
    ledger.takes.map(({ at, entry }) => {
      const { boot, mono } = entry.kind === "poll" ? entry : entry.record;
      return [`${boot} ${mono}`, at] as const;
    }),
  );
  return outputFaults({ plant, boxes, log, due: outcome.window.end, taken });
}

/** Checks the live values of outputs. Stories without a time source have one gateway. */
function ofLiveValues({ plant, boxes, ledger, field, outcome }: Played): readonly string[] {
  const { commit_interval_ms } = outcome.story;
  return plant.sides.flatMap((side) => {
    const events = side.broker.events.filter(({ box }) => box === boxes.length - 1);
    const { unconfirmed } = field;
    const faults = liveFaults({ side, events, unconfirmed, takes: ledger.takes, commit_interval_ms });
    return faults.map((fault) => `${side.output.name}, ${side.output.kind}: ${fault}`);
  });
}

function namesOf({ faults }: Story): { readonly damages: number; readonly isLiedTo: boolean } {
  const count = (kind: Fault["kind"]): number => faults.filter((fault) => fault.kind === kind).length;
  return { damages: count("bad_bit"), isLiedTo: count("lying") > 0 };
}

/** Compares the figures of the gateway with those that the service computes from the delivered records. */
function bothSides({ boxes, outcome }: Played): readonly (readonly [string, readonly string[]])[] {
  const [box, ...others] = boxes;
  // After a swap no gateway has the whole story.
  if (box === undefined || others.length > 0 || !isMadeAgain(box.folder)) return [];
  const { source, close } = openSource(box.folder, box.site.clock.truth());
  try {
    const { window } = outcome;
    return [
      [
        "gateway and service have the same figures",
        contrast(allOfGateway(source, window), allOfService(box.site, window)),
      ],
    ];
  } finally {
    close();
  }
}

function more(places: number): string[] {
  return places > MOST_PLACES ? [`and ${places - MOST_PLACES} more`] : [];
}

/** Returns the booth's stages inside the window. The time before the first stage is unknown. */
function clipped(stages: readonly ModeSpan[], { start, end }: { start: number; end: number }): readonly ModeSpan[] {
  const inside = stages
    .filter((stage) => stage.start < end && stage.end > start)
    .map(({ mode, ...span }) => ({ mode, start: Math.max(start, span.start), end: Math.min(end, span.end) }));
  const first = inside[0]?.start ?? end;
  return first > start ? [{ mode: "no_data", start, end: first }, ...inside] : inside;
}
