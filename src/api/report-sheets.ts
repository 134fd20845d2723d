import { bakesIn, type BakeFigures } from "../reports/bakes.ts";
import { logSheet } from "../reports/log-sheet.ts";
import { dayOf, utcText } from "../domain/time-zone.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../domain/time.ts";
import type { EpochMs, Milliseconds } from "../domain/units.ts";
import {
  type BakeSensorBody,
  type BakesBody,
  recordDigest,
  type RecordHead,
  type SheetBody,
} from "../contract/records.ts";
import { QueryError, windowParams } from "../contract/reports-query.ts";
import { answerTime } from "../contract/time.ts";
import { bakesCsv, sheetCsv } from "../tools/records/csv.ts";
import { bakesHtml, sheetHtml } from "../tools/records/html.ts";
import { languageOf } from "../tools/records/texts.ts";
import type { BoothAsk, BoothReport, Made } from "./report.ts";

const DATE_CHARS = "2026-03-02".length;

/** The records that an owner shows to others, by the last segment of their path. */
export const SHEETS = {
  log_sheet: (ask) => formatted(ask, sheetBody(ask), { csv: sheetCsv, html: sheetHtml }),
  bake_records: (ask) => formatted(ask, bakesBody(ask), { csv: bakesCsv, html: bakesHtml }),
} satisfies Readonly<Record<string, BoothReport>>;

interface Formats<B> {
  readonly csv: (body: B) => Generator<string>;
  readonly html: (body: B, language: ReturnType<typeof languageOf>) => string;
}

function formatted<B extends object>({ query }: BoothAsk, body: B, { csv, html }: Formats<B>): Made {
  const { format = "json", lang } = query;
  if (format === "csv") return { lines: csv(body) };
  if (format === "html") return { html: html(body, languageOf(lang)) };
  if (format !== "json") throw new QueryError("format is none of json, csv, html");
  return { body };
}

function headOf(
  { booth, clock, version }: BoothAsk,
  document: RecordHead["document"],
  window: { start: EpochMs; end: EpochMs },
): RecordHead {
  const dateOf = (at: EpochMs): string => utcText(dayOf(clock.tz, at) * DAY_MS).slice(0, DATE_CHARS);
  const { serial, account: customer, facility } = booth;
  const from = dateOf(window.start);
  const to = dateOf(Math.max(window.start, window.end - 1));
  return { document, booth: booth.booth, serial, customer, facility, tz: clock.tz, from, to, version };
}

function sheetBody(ask: BoothAsk): SheetBody {
  const window = windowParams(ask.query, ask.clock);
  const head = headOf(ask, "log_sheet", window);
  const sheet = logSheet(ask.source, window);
  const days = sheet.days.map(({ day, use_ms, spray_ms, no_data_ms, filters }) => ({
    day,
    use_minutes: tenthsOf(use_ms, MINUTE_MS),
    spray_minutes: tenthsOf(spray_ms, MINUTE_MS),
    no_data_minutes: tenthsOf(no_data_ms, MINUTE_MS),
    filters: filters.map((one) => {
      const { filter, installed_at, removed_at, assumed, overuse_since, limits, drop, baseline_pa = null } = one;
      const { minutes, pressure_pa } = limits;
      return {
        filter,
        installed_at: answerTime(installed_at),
        removed_at: timeOrNull(removed_at),
        assumed,
        use_hours: one.filter_use_ms === null ? null : tenthsOf(one.filter_use_ms, HOUR_MS),
        limit_hours: minutes === undefined ? null : tenthsOf(minutes * MINUTE_MS, HOUR_MS),
        overuse_since: timeOrNull(overuse_since),
        sensor: drop !== undefined,
        highest_pa: drop?.highest_pa ?? null,
        median_pa: drop?.median_pa ?? null,
        baseline_pa,
        limit_pa: baseline_pa === null || pressure_pa === undefined ? null : baseline_pa + pressure_pa,
      };
    }),
  }));
  const changes = sheet.changes.map(({ filter, at, source, id, part_number, note, corrected, removed }) => ({
    filter,
    at: answerTime(at),
    source,
    id,
    part_number,
    note,
    corrected,
    removed_use_hours: removed === null ? null : tenthsOf(removed.use_ms, HOUR_MS),
    removed_overuse_days: removed === null ? null : tenthsOf(removed.overuse_ms, DAY_MS),
  }));
  const { filters } = sheet;
  return { head, digest: recordDigest(head, { filters, days, changes }), filters, days, changes };
}

function bakesBody(ask: BoothAsk): BakesBody {
  const window = windowParams(ask.query, ask.clock);
  const head = headOf(ask, "bake_records", window);
  const bodies = bakesIn(ask.source, window).map(
    ({ bay, start, end, bake_ms, no_data_ms, end_reason, air, metal, verdicts }) => ({
      bay,
      start: answerTime(start),
      end: answerTime(end),
      bake_minutes: tenthsOf(bake_ms, MINUTE_MS),
      no_data_minutes: tenthsOf(no_data_ms, MINUTE_MS),
      end_reason,
      air: air && sensorBody(air),
      metal: metal && sensorBody(metal),
      rules: verdicts.map(({ rule, verdict, reason, above_ms, longest_ms, over_ms }) => ({
        rule: rule.name,
        sensor: rule.sensor,
        at_least_c: rule.at_least_c ?? null,
        minutes: rule.minutes ?? null,
        at_most_c: rule.at_most_c ?? null,
        verdict,
        reason,
        above_minutes: minutesOrNull(above_ms),
        longest_minutes: minutesOrNull(longest_ms),
        over_minutes: minutesOrNull(over_ms),
      })),
    }),
  );
  const withoutCurve = ({ curve: _curve, ...sensor }: BakeSensorBody): BakeSensorBody => sensor;
  const bakes = bodies.map((bake) => ({
    ...bake,
    air: bake.air && withoutCurve(bake.air),
    metal: bake.metal && withoutCurve(bake.metal),
  }));
  const { curve, format } = ask.query;
  const hasCurves = curve === "true" || format === "html";
  return { head, digest: recordDigest(head, { bakes }), bakes: hasCurves ? bodies : bakes };
}

function sensorBody({ peak_c, lowest_c, deadband, unknown_ms, minutes }: BakeFigures): BakeSensorBody {
  const curve = minutes.map(({ at_ms, low, high }) => [tenthsOf(at_ms, MINUTE_MS), low, high] as const);
  return { peak_c, lowest_c, deadband_c: deadband, unknown_minutes: tenthsOf(unknown_ms, MINUTE_MS), curve };
}

function tenthsOf(ms: Milliseconds, unit_ms: Milliseconds): number {
  return Math.round((ms * 10) / unit_ms) / 10;
}

function minutesOrNull(ms: Milliseconds | null): number | null {
  return ms === null ? null : tenthsOf(ms, MINUTE_MS);
}

function timeOrNull(at: EpochMs | null): string | null {
  return at === null ? null : answerTime(at);
}
