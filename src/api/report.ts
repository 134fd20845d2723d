import { wantsSaid, withSaid } from "./said.ts";
import { type AgentStatus, connectivityOf } from "../domain/status.ts";
import type { EpochMs } from "../domain/units.ts";
import type { ReportParts, StoreReader } from "../store/port.ts";
import { zoneOf } from "../reports/rules.ts";
import { stateOf, type FigureCoverage, type Source } from "../reports/source.ts";
import { coverageBody } from "../contract/reports.ts";
import type { BoothFields } from "../contract/reports-fleet.ts";
import { QueryError, type Query } from "../contract/reports-query.ts";

/** What reports are told of a booth beside its store: plain data, so that it goes to another thread. */
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

/** Corrected time now, by which reports are clipped: the booths of a box share its clocks. Without a booth its wall clock. */
export function reportsNow(status: AgentStatus): EpochMs {
  return status.booths.reduce((latest, { time }) => Math.max(latest, time), 0) || status.at;
}

/** A booth by the service's id, by its name here, or by its serial number. */
export function findBooth(booths: readonly LocalBooth[], named: string): LocalBooth | undefined {
  return booths.find(({ booth_id, booth, serial }) => named === booth_id || named === booth || named === serial);
}

/** A GET for a report: its thread matches no path. */
export interface AskedReport {
  /** The operation's name, e.g. "GET /api/booths/{id}/runtime" */
  readonly operation: string;
  /** Of its path. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
}

/** The same with all that it is made from beside the store, as plain data. */
export interface ReportRequest extends AskedReport {
  readonly booths: readonly LocalBooth[];
  readonly now_ms: number;
}

export function requestOf(asked: AskedReport, status: AgentStatus): ReportRequest {
  return { ...asked, booths: localBooths(status), now_ms: reportsNow(status) };
}

/** Makes a report elsewhere; rejects where none can be made now. */
export type AskReport = (asked: AskedReport) => Promise<ReportParts>;

export interface ReportAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text, or parts of a text that are made as they are asked for. */
  readonly body: string | Iterable<string>;
}

/** What a report of one booth is made from. */
export interface BoothAsk {
  readonly booth: LocalBooth;
  readonly source: Source;
  readonly query: Query;
  /** Zone now in force, and now: what query parameters are read with. */
  readonly clock: { readonly tz: string; readonly now: number };
}

/** What a report of all booths of the box is made from. */
export interface BoxAsk extends Pick<ReportRequest, "booths" | "query" | "now_ms"> {
  readonly sourceOf: (booth: LocalBooth) => Source;
}

export type Told =
  | {
      readonly body: object;
      /** What the figure stands on; added to the body where the query has `coverage=true`, worked out then where it costs more. */
      readonly coverage?: FigureCoverage | (() => FigureCoverage);
      readonly headers?: Readonly<Record<string, string>>;
    }
  /** Of CSV, made as they are asked for. */
  | { readonly lines: Generator<string> };

/** Throws a QueryError for a query that can't be read. */
export type BoothReport = (ask: BoothAsk) => Told;
export type BoxReport = (ask: BoxAsk) => Told;
export type Report =
  | { readonly kind: "booth report"; readonly tell: BoothReport }
  | { readonly kind: "box report"; readonly tell: BoxReport };

const JSON_TYPE = { "Content-Type": "application/json; charset=utf-8" };
const CSV_TYPE = { "Content-Type": "text/csv; charset=utf-8" };

/**
 * What the box answers in the service's place, from what is durable. Never throws for what was asked; errors are `{error}`: 400 a
 * query that can't be read, 404 no such booth.
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
  if (report.kind === "box report") return spelled(report.tell({ booths, query, now_ms, sourceOf }), query);
  const { id, serial_number = "" } = params;
  const booth = findBooth(booths, id ?? serial_number);
  if (booth === undefined) return failed(404, `${id === undefined ? "serial number" : "booth"} not found`);
  const source = sourceOf(booth);
  const clock = { tz: zoneOf(stateOf(source)), now: now_ms };
  return spelled(report.tell({ booth, source, query, clock }), query);
}

function spelled(told: Told, query: Query): ReportAnswer {
  if ("lines" in told) return { status: 200, headers: CSV_TYPE, body: started(told.lines) };
  const { body, coverage, headers } = told;
  const isAsked = coverage !== undefined && query["coverage"] === "true";
  const stood = isAsked ? { coverage: coverageBody(typeof coverage === "function" ? coverage() : coverage) } : {};
  return { status: 200, headers: { ...JSON_TYPE, ...headers }, body: textOf({ ...body, ...stood }, query) };
}

function textOf(body: object, query: Query): string {
  return `${JSON.stringify(wantsSaid(query) ? withSaid(body) : body)}\n`;
}

/** The first part is made at once, so that a query that can't be read is still an error and no half answer. */
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
