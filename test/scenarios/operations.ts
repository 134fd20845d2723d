import type { Window } from "../../src/store/port.ts";
import type { Source } from "../../src/reports/source.ts";
import { ordered } from "./figures.ts";
import { boxAnswer, pathOf } from "../support/figures.ts";
import type { VirtualService } from "../support/virtual-service.ts";
import { HOUR_MS } from "../../src/domain/time.ts";

const BOOTH_TAGS = "mode,cycle_count,gas,energy,no_such_tag";

/** Values of the parameter `includes` of a list, and the fields they add. */
const INCLUDES = ["cycle_count", "utilization_times", "energy_usage", "bake_time", "overuse_data"] as const;
const INCLUDED = [
  "cycles_count",
  "utilization_minutes",
  "working_minutes",
  "gas_usage",
  "kwh_usage",
  "bake_time",
  "overuse_minutes",
  "overuse_cycles",
] as const;

type Question = readonly [operation: string, query: Readonly<Record<string, string>>];
type Answer = Record<string, unknown>;

/** Operations on a window in both gateway and service. */
const OVER_WINDOWS = [
  "duration_by_mode",
  "frequency_by_mode",
  "runtime",
  "utilization_stats",
  "utilization_summary",
  "filter_maintenances",
  "filter_maintenance_history",
] as const;

/** Returns queries of all common operations: over the whole story, over parts that cut stages and cycles, and without a window. */
export function questions({ start, end }: Window): readonly Question[] {
  const at = (ms: number): string => new Date(ms).toISOString();
  const third = start + Math.round((end - start) / 3);
  const windows = [
    { start: at(start), end: at(end) },
    { start: at(start), end: at(third) },
    { start: at(third), end: at(end) },
    { start: at(third + 1_234_000), end: at(third + 2 * HOUR_MS) },
  ];
  const day = { start: at(start), end: at(Math.min(end, start + 40 * HOUR_MS)) };
  return [
    ...windows.flatMap((window) => OVER_WINDOWS.map((operation): Question => [operation, window])),
    ...windows.slice(0, 2).map((window): Question => ["runtime_series", { ...window, unit: "day" }]),
    ["runtime_series", { ...windows[0], unit: "week", states: "Spray Mode,No Data" }],
    ["runtime_series", { ...day, unit: "hour" }],
    ["utilization_timeline", { ...day, interval: "60", limit: "1000" }],
    ["utilization_timeline", { ...day, interval: "7", limit: "1000" }],
    ["recent_stages", { ...day, limit: "1000" }],
    ["revision_history", {}],
    ["/api/validation_incidents", { limit: "1000" }],
    ["/api/booths", { ...windows[0], includes: INCLUDES.join(":") }],
    ["history", { ...day, tags: BOOTH_TAGS, limit: "1000" }],
    ["latest_values_at", { tags: BOOTH_TAGS, before: at(third) }],
    ["latest_values_at", { tags: BOOTH_TAGS, before: at(end) }],
  ];
}

/** Returns the answers in the order of the questions, as text. */
export function boxAnswers(source: Source, asked: readonly Question[]): string[] {
  return asked.map(([operation, query]) => ordered(comparable(operation, boxAnswer(source, operation, query))));
}

export async function serviceAnswers(service: VirtualService, asked: readonly Question[]): Promise<string[]> {
  const answers: string[] = [];
  for (const [operation, query] of asked) {
    answers.push(ordered(comparable(operation, await service.ask(pathOf(operation), query))));
  }
  return answers;
}

/** Returns the first difference of each pair of answers, with its question. */
export function unequal(asked: readonly Question[], mine: readonly string[], theirs: readonly string[]): string[] {
  return asked.flatMap(([operation, query], index) => {
    const a = mine[index] ?? "";
    const b = theirs[index] ?? "";
    if (a === b) return [];
    let at = 0;
    while (a[at] === b[at]) at += 1;
    at = Math.max(0, at - 80);
    return [`${operation} ${JSON.stringify(query)}: ${a.slice(at, at + 200)} <> ${b.slice(at, at + 200)}`];
  });
}

function comparable(operation: string, answer: Answer): Answer {
  if (operation !== "/api/booths") return answer;
  return { data: (answer["data"] as Answer[]).map((item) => only(item, INCLUDED)) };
}

function only(item: Answer, fields: readonly string[]): Answer {
  return Object.fromEntries(fields.map((field) => [field, item[field]]));
}
