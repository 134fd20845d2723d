import type { StoreReader } from "../store/port.ts";
import { zoneOf } from "../reports/rules.ts";
import { stateOf, type Source } from "../reports/source.ts";
import { coverageBody } from "../contract/reports.ts";
import { provisioningBody } from "../contract/reports-fleet.ts";
import { QueryError, windowParams } from "../contract/reports-query.ts";
import { decoded } from "./decoded.ts";
import { findBooth } from "./local-booth.ts";
import { boothAnswer, FLEET } from "./report-booths.ts";
import { TIME_FIGURES } from "./report-figures.ts";
import { csvLines, incidentsAnswer, RECORD_FIGURES } from "./report-records.ts";
import type { BoothAsk, ReportAnswer, ReportRequest, Told } from "./report-request.ts";
import { explain, EXPLAINABLE } from "../reports/explain.ts";

/** The box's own operation beside the service's: where a figure comes from. Instants are epoch ms. */
export const EXPLAIN: Readonly<Record<string, (ask: BoothAsk) => Told>> = {
  explain({ source, query, clock }) {
    const figure = query["figure"] ?? "";
    const explanation = explain(source, figure, windowParams(query, clock));
    if (explanation === null) throw new QueryError(`figure is none of ${EXPLAINABLE.join(", ")}`);
    return { body: explanation };
  },
};

const JSON_TYPE = { "Content-Type": "application/json; charset=utf-8" };
const CSV_TYPE = { "Content-Type": "text/csv; charset=utf-8" };
const BOOTH_FIGURES: Readonly<Record<string, (ask: BoothAsk) => Told>> = {
  ...TIME_FIGURES,
  ...RECORD_FIGURES,
  ...EXPLAIN,
};

/**
 * Answers a GET that the box serves in the service's place, from what is durable. Never throws for what was asked; errors are
 * `{error}`: 400 a query that can't be read, 404 no such booth, 501 a path that only the service serves.
 */
export function answerReport(request: ReportRequest, reader: StoreReader): ReportAnswer {
  try {
    return answer(request, reader);
  } catch (error) {
    if (error instanceof QueryError || error instanceof RangeError) return failed(400, error.message);
    throw error;
  }
}

function answer(request: ReportRequest, reader: StoreReader): ReportAnswer {
  const { path } = request;
  const sourceOf = (stream: string): Source => ({ reader, stream, now_ms: request.now_ms });
  const fleet = Object.hasOwn(FLEET, path) ? FLEET[path] : undefined;
  if (fleet !== undefined) return told({ body: fleet(request, sourceOf) }, request);
  if (path === "/api/validation_incidents") return told(incidentsAnswer(request, sourceOf), request);
  const [, , collection, id = "", figure, ...more] = path.split("/").map(decoded);
  if (more.length > 0 || (collection !== "booths" && collection !== "booths_provisioning")) return serviceOnly(path);
  const booth = findBooth(request.booths, id);
  if (booth === undefined) return failed(404, `${collection === "booths" ? "booth" : "serial number"} not found`);
  if (collection === "booths_provisioning") return told({ body: provisioningBody(booth) }, request);
  const source = sourceOf(booth.log);
  if (figure === undefined) return told({ body: boothAnswer(booth, source) }, request);
  const ask = { booth, source, query: request.query, clock: { tz: zoneOf(stateOf(source)), now: request.now_ms } };
  if (figure === "export_csv") return { status: 200, headers: CSV_TYPE, body: started(csvLines(ask)) };
  const tell = Object.hasOwn(BOOTH_FIGURES, figure) ? BOOTH_FIGURES[figure] : undefined;
  return tell === undefined ? serviceOnly(path) : told(tell(ask), request);
}

/** The first part is made at once, so that a query that can't be read is still an error and no half answer. */
function started(parts: Generator<string>): Iterable<string> {
  const first = parts.next();
  return (function* () {
    if (first.done !== true) yield first.value;
    yield* parts;
  })();
}

function told({ body, coverage, headers }: Told, { query }: ReportRequest): ReportAnswer {
  const isAsked = coverage !== undefined && query["coverage"] === "true";
  const stood = isAsked ? { coverage: coverageBody(typeof coverage === "function" ? coverage() : coverage) } : {};
  const whole = { ...body, ...stood };
  return { status: 200, headers: { ...JSON_TYPE, ...headers }, body: `${JSON.stringify(whole)}\n` };
}

function failed(status: number, error: string): ReportAnswer {
  return { status, headers: JSON_TYPE, body: `${JSON.stringify({ error })}\n` };
}

function serviceOnly(path: string): ReportAnswer {
  return failed(501, `the box doesn't serve ${path}: ask the service`);
}
