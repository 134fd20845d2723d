import { statSync } from "node:fs";
import { aligned } from "../support/aligned.ts";
import { readScores, SCORES_FILE, type Score } from "./score.ts";

const HEAD = [
  "no",
  "scenario",
  "transitions",
  "max error ms",
  "back ms",
  "cycles",
  "filters",
  "overuse ms",
  "revisions",
  "incidents",
  "service",
  "answers",
  "late",
];

function writtenAt(): number {
  return statSync(SCORES_FILE, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function cellsOf(score: Score): string[] {
  const pair = ([derived, truth]: readonly [number, number]): string => `${derived}/${truth}`;
  const { number, scenario, transitions, max_error_ms, back_error_ms, overuse_error_ms } = score;
  const service = score.service_differs.length === 0 ? "equal" : score.service_differs.join(" ");
  const counts = [pair(score.cycles), pair(score.filters), String(overuse_error_ms), pair(score.revisions)];
  const incidents = pair(score.incidents);
  return [
    String(number),
    scenario,
    String(transitions),
    String(max_error_ms),
    String(back_error_ms),
    ...counts,
    incidents,
    service,
    pair(score.answers),
    pair(score.answers_late),
  ];
}

/** Vitest's global set-up; its result runs after all tests: prints the table if any scenario was played. */
export function setup(): () => void {
  const before = writtenAt();
  return () => {
    if (writtenAt() === before) return;
    const rows = [HEAD, ...readScores().map(cellsOf)];
    process.stdout.write(`\nscenarios: derived against truth, and box against service\n${aligned(rows)}\n`);
  };
}
