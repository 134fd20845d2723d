import { wantsMessages } from "./wants-messages.ts";
import { rendered } from "../domain/messages/render.ts";
import { type AgentStatus, connectivityOf } from "../domain/status.ts";
import type { EpochMs } from "../domain/units.ts";
import type { ReportParts, StoreReader } from "../store/port.ts";
import { zoneOf } from "../reports/rules.ts";
import { stateOf, type FigureCoverage, type Source } from "../reports/source.ts";
import { coverageBody, envelopeOf } from "../contract/reports.ts";
import type { BoothFields } from "../contract/reports-fleet.ts";
import { pagingParams, QueryError, type Query } from "../contract/reports-query.ts";

/** A booth as reports see it in addition to its store: plain data, so that it can be sent to another thread. */
export type LocalBooth = BoothFields;

export function localBooths({ booths, loss_window_ms }: AgentStatus): LocalBooth[] {
  return booths.map(({ booth, stream, serial, provisioning, plc, log, time, now }) => ({
    ...provisioning,
    booth,
    stream,
    serial,
    log: log.stream,
    label: log.label,
    summary: now,
    booth_id: provisioning.booth_id ?? booth,
    brand: provisioning.shown?.brand_name ?? provisioning.brand,
    model: provisioning.shown?.model_number ?? provisioning.model,
    connectivity: connectivityOf({ summary: now, plc }, time, loss_window_ms),
    acked_seq: log.acked_seq,
    last_commit_at: log.last_commit_at,
  }));
}

/** Returns the corrected time now, at which reports end: the booths of a box share its clocks. Without a booth the wall clock. */
export function reportsNow(status: AgentStatus): EpochMs {
  return status.booths.reduce((latest, { time }) => Math.max(latest, time), 0) || status.at;
}

/** Finds a booth by the service's id, by its name here, or by its serial number. */
export function findBooth(booths: readonly LocalBooth[], named: string): LocalBooth | undefined {
  return booths.find(({ booth_id, booth, serial }) => named === booth_id || named === booth || named === serial);
}

/** A GET of a report, whose path is already matched. */
export interface AskedReport {
  /** The operation's name, e.g. "GET /api/booths/{id}/runtime" */
  readonly operation: string;
  /** Parameters of the path. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
}

/** The same with all that the report needs in addition to the store, as plain data. */
export interface ReportRequest extends AskedReport {
  readonly booths: readonly LocalBooth[];
  readonly now_ms: number;
}

export function requestOf(asked: AskedReport, status: AgentStatus): ReportRequest {
  return { ...asked, booths: localBooths(status), now_ms: reportsNow(status) };
}

/** Makes a report on the reports thread. Rejects if none can be made now. */
export type AskReport = (asked: AskedReport) => Promise<ReportParts>;

export interface ReportAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text, or parts of a text that are made on demand. */
  readonly body: string | Iterable<string>;
}

/** The input of a report on one booth. */
export interface BoothAsk {
  readonly booth: LocalBooth;
  readonly source: Source;
  readonly query: Query;
  /** The present zone and time, by which query parameters are read. */
  readonly clock: { readonly tz: string; readonly now: number };
}

/** The input of a report on all booths. */
export interface BoxAsk extends Pick<ReportRequest, "booths" | "query" | "now_ms"> {
  readonly sourceOf: (booth: LocalBooth) => Source;
}

/** A finished report. */
export type Made =
  | {
      readonly body: object;
      /** The data that the figure is based on. Added to the body if the query has `coverage=true`; a function if it is expensive. */
      readonly coverage?: FigureCoverage | (() => FigureCoverage);
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** Lines of CSV, made on demand. */
  | { readonly lines: Generator<string> };

/** Throws a QueryError for a query that can't be read. */
export type BoothReport = (ask: BoothAsk) => Made;
export type BoxReport = (ask: BoxAsk) => Made;
export type Report =
  | { readonly kind: "booth report"; readonly tell: BoothReport }
  | { readonly kind: "box report"; readonly tell: BoxReport };

/** Returns the page of a list that the query asks for. `allowAll`: the query may ask for all entries. */
export function paged<T>(items: readonly T[], query: Query, { allowAll = false } = {}) {
  return envelopeOf(items, pagingParams(query, { allowAll }));
}

const JSON_TYPE = { "Content-Type": "application/json; charset=utf-8" };
const CSV_TYPE = { "Content-Type": "text/csv; charset=utf-8" };

/**
 * Makes a report in the service's shape from durable data. Errors of the request are answers `{error}`: 400 for an invalid query, 404
 * for an unknown booth.
 */
export function reportAnswer(report: Report, request: ReportRequest, reader: StoreReader): ReportAnswer {
  try {
    return answered(report, request, reader);
  } catch (error) {
    if (error instanceof QueryError || error instanceof RangeError) return failed(400, error.message);
    throw error;
  }
}

function answered(report: Report, request: ReportRequest, reader: StoreReader): ReportAnswer {
  const { params, query, booths, now_ms } = request;
  const sourceOf = ({ log }: LocalBooth): Source => ({ reader, stream: log, now_ms });
  if (report.kind === "box report") return answerOf(report.tell({ booths, query, now_ms, sourceOf }), query);
  const { id, serial_number = "" } = params;
  const booth = findBooth(booths, id ?? serial_number);
  if (booth === undefined) return failed(404, `${id === undefined ? "serial number" : "booth"} not found`);
  const source = sourceOf(booth);
  const clock = { tz: zoneOf(stateOf(source)), now: now_ms };
  return answerOf(report.tell({ booth, source, query, clock }), query);
}

function answerOf(made: Made, query: Query): ReportAnswer {
  if ("lines" in made) return { status: 200, headers: CSV_TYPE, body: started(made.lines) };
  const { body, coverage, headers } = made;
  const isAsked = coverage !== undefined && query["coverage"] === "true";
  const covered = isAsked ? { coverage: coverageBody(typeof coverage === "function" ? coverage() : coverage) } : {};
  const whole = { ...body, ...covered };
  const text = `${JSON.stringify(rendered(whole, { said: wantsMessages(query) }))}\n`;
  return { status: 200, headers: { ...JSON_TYPE, ...headers }, body: text };
}

/** Makes the first part at once, so that an invalid query is an error and not half an answer. */
function started(parts: Generator<string>): Iterable<string> {
  const first = parts.next();
  return (function* () {
    if (first.done !== true) yield first.value;
    yield* parts;
  })();
}

function failed(status: number, error: string): ReportAnswer {
  return { status, headers: JSON_TYPE, body: `${JSON.stringify({ error })}\n` };
}
