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

/** The data about a booth that reports need in addition to the store. It is plain data, so that it can be sent to another thread. */
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

/**
 * Returns the present time at which reports end. It is the corrected time, which all booths of the box share, or the wall clock if there is
 * no booth.
 */
export function reportsNow(status: AgentStatus): EpochMs {
  return status.booths.reduce((latest, { time }) => Math.max(latest, time), 0) || status.at;
}

/** Finds a booth by its id at the service, by its name in the configuration, or by its serial number. */
export function findBooth(booths: readonly LocalBooth[], named: string): LocalBooth | undefined {
  return booths.find(({ booth_id, booth, serial }) => named === booth_id || named === booth || named === serial);
}

/** A request for a report, whose path is already matched. */
export interface AskedReport {
  /** Name of the operation, such as "GET /api/booths/{id}/runtime". */
  readonly operation: string;
  /** Decoded parameters of the path. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
}

/** A request for a report with all the data that the report needs in addition to the store. */
export interface ReportRequest extends AskedReport {
  readonly booths: readonly LocalBooth[];
  readonly now_ms: number;
  readonly version: string;
}

export function requestOf(asked: AskedReport, status: AgentStatus): ReportRequest {
  return { ...asked, booths: localBooths(status), now_ms: reportsNow(status), version: status.agent_version };
}

/** Makes a report on the reports thread. Rejects if the thread can't make it now. */
export type AskReport = (asked: AskedReport) => Promise<ReportParts>;

export interface ReportAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The text of the answer, or its parts, which are made on demand. */
  readonly body: string | Iterable<string>;
}

/** The input of a report on one booth. */
export interface BoothAsk {
  readonly booth: LocalBooth;
  readonly source: Source;
  readonly query: Query;
  /** Version of the agent. */
  readonly version: string;
  /** The present zone and time, which give query parameters their meaning. */
  readonly clock: { readonly tz: string; readonly now: number };
}

/** The input of a report on all booths. */
export interface BoxAsk extends Pick<ReportRequest, "booths" | "query" | "now_ms"> {
  readonly sourceOf: (booth: LocalBooth) => Source;
}

/** A finished report: a body with its coverage, or lines of CSV. */
export type Made =
  | {
      readonly body: object;
      /**
       * Coverage: the time for which the store has data. It is added to the body if the query has `coverage=true`. A
       * function computes an expensive coverage only if it is needed.
       */
      readonly coverage?: FigureCoverage | (() => FigureCoverage);
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** Lines of CSV, which are made on demand. */
  | { readonly lines: Generator<string> }
  /** A document for people, as HTML. */
  | { readonly html: string };

/** Makes a report on a booth. Throws a QueryError for an invalid query. */
export type BoothReport = (ask: BoothAsk) => Made;
export type BoxReport = (ask: BoxAsk) => Made;
export type Report =
  | { readonly kind: "booth report"; readonly tell: BoothReport }
  | { readonly kind: "box report"; readonly tell: BoxReport };

/** Returns the page of a list that the query asks for. `allowAll`: the query may ask for all entries at once. */
export function paged<T>(items: readonly T[], query: Query, { allowAll = false } = {}) {
  return envelopeOf(items, pagingParams(query, { allowAll }));
}

const JSON_TYPE = { "Content-Type": "application/json; charset=utf-8" };
const HTML_TYPE = { "Content-Type": "text/html; charset=utf-8" };
const CSV_TYPE = { "Content-Type": "text/csv; charset=utf-8" };

/**
 * Makes a report in the service's shape from durable data. Answers 400 for an invalid query and 404 for an unknown booth, each with
 * `{error}`.
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
  const { params, query, booths, now_ms, version } = request;
  const sourceOf = ({ log }: LocalBooth): Source => ({ reader, stream: log, now_ms });
  if (report.kind === "box report") return answerOf(report.tell({ booths, query, now_ms, sourceOf }), query);
  const { id, serial_number = "" } = params;
  const booth = findBooth(booths, id ?? serial_number);
  if (booth === undefined) return failed(404, `${id === undefined ? "serial number" : "booth"} not found`);
  const source = sourceOf(booth);
  const clock = { tz: zoneOf(stateOf(source)), now: now_ms };
  return answerOf(report.tell({ booth, source, query, version, clock }), query);
}

function answerOf(made: Made, query: Query): ReportAnswer {
  if ("html" in made) return { status: 200, headers: HTML_TYPE, body: made.html };
  if ("lines" in made) return { status: 200, headers: CSV_TYPE, body: started(made.lines) };
  const { body, coverage, headers } = made;
  const isAsked = coverage !== undefined && query["coverage"] === "true";
  const covered = isAsked ? { coverage: coverageBody(typeof coverage === "function" ? coverage() : coverage) } : {};
  const whole = { ...body, ...covered };
  const text = `${JSON.stringify(rendered(whole, { said: wantsMessages(query) }))}\n`;
  return { status: 200, headers: { ...JSON_TYPE, ...headers }, body: text };
}

/** Makes the first part at once, so that an invalid query leads to an error, not to an incomplete answer. */
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
