import { type Mode, wireNameOf } from "../../src/domain/booth.ts";
import type { Window, StoreReader } from "../../src/store/port.ts";
import { durationByMode, frequencyByMode, utilization } from "../../src/reports/usage.ts";
import { cycleCount } from "../../src/reports/cycles.ts";
import type { Source } from "../../src/reports/source.ts";
import { minutesOf } from "../../src/contract/time.ts";
import { openReader } from "../../src/store/reader.ts";
import type { LocalBooth } from "../../src/api/report.ts";
import type { Query } from "../../src/contract/reports-query.ts";
import { SERIAL, type VirtualService } from "./virtual-service.ts";
import { nameOf, matchOf, OPERATIONS } from "../../src/api/operations.ts";
import { reportAnswer, type Report, type ReportAnswer, type ReportRequest } from "../../src/api/report.ts";

/** The figures that the gateway and the service both return for a window, in the service's units and names. */
export interface Figures {
  readonly minutes: Readonly<Record<string, number>>;
  readonly starts: Readonly<Record<string, number>>;
  readonly utilization_minutes: number;
  readonly working_minutes: number;
  readonly cycle_count: number;
}

/** Opens a gateway's store as a source for reports. */
export function openSource(folder: string, now_ms: number): { readonly source: Source; readonly close: () => void } {
  const reader = openReader(folder);
  const [info] = reader.streams();
  if (info === undefined) throw new Error("the store holds no stream");
  return { source: { reader, stream: info.stream, now_ms }, close: () => reader.close() };
}

function named(by_mode: Partial<Record<Mode, number>>, convert: (value: number) => number): Record<string, number> {
  const entries = Object.entries(by_mode) as [Mode, number][];
  return Object.fromEntries(
    entries.filter(([, value]) => value > 0).map(([mode, value]) => [wireNameOf(mode), convert(value)]),
  );
}

export function gatewayFigures(source: Source, window: Window): Figures {
  const use = utilization(source, window);
  return {
    minutes: named(durationByMode(source, window).by_mode, minutesOf),
    starts: named(frequencyByMode(source, window).by_mode, (count) => count),
    utilization_minutes: minutesOf(use.in_use_ms),
    working_minutes: minutesOf(use.working_ms),
    cycle_count: cycleCount(source, window).cycle_count,
  };
}

export function serviceFigures(service: VirtualService, window: Window): Figures {
  const query = { start: new Date(window.start).toISOString(), end: new Date(window.end).toISOString() };
  const modes = (figure: string): Record<string, number> => {
    const answer = service.get(`/api/booths/b-1/${figure}`, query) as {
      modes: { mode: string; duration?: number; count?: number }[];
    };
    const values = answer.modes.map(({ mode, duration, count }) => [mode, duration ?? count ?? 0] as const);
    return Object.fromEntries(values.filter(([, value]) => value > 0));
  };
  const stats = service.get("/api/booths/b-1/utilization_stats", query) as Record<string, number>;
  return {
    minutes: modes("duration_by_mode"),
    starts: modes("frequency_by_mode"),
    utilization_minutes: stats["utilization_minutes"] ?? NaN,
    working_minutes: stats["working_minutes"] ?? NaN,
    cycle_count: stats["cycle_count"] ?? NaN,
  };
}

/** Returns the booth as the gateway's status shows it, for reports without an agent. */
export function localBooth(source: Source): LocalBooth {
  return {
    booth: "booth-1",
    stream: source.stream,
    log: source.stream,
    label: null,
    booth_id: "b-1",
    serial: SERIAL,
    account_id: null,
    account: null,
    facility_id: null,
    facility: null,
    brand: null,
    model: null,
    shown: null,
    hw_configuration: null,
    created_at: null,
    state: "active",
    generation: 1,
    connectivity: "Idle",
    acked_seq: 0,
    last_commit_at: null,
    summary: null,
  };
}

/**
 * Returns the path of a booth's operation, such as "runtime". An argument that starts with a slash is already a path.
 */
export function pathOf(operation: string): string {
  return operation.startsWith("/") ? operation : `/api/booths/b-1/${operation}`;
}

/** Returns the gateway's answer to an operation. Throws if the status isn't 200. */
export function boxAnswer(source: Source, operation: string, query: Query = {}): Record<string, unknown> {
  const path = pathOf(operation);
  const request = requestAt({ path, query, booths: [localBooth(source)], now_ms: source.now_ms });
  const answer = answerReport(request, source.reader);
  const text = typeof answer.body === "string" ? answer.body : [...answer.body].join("");
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${text}`);
  return JSON.parse(text) as Record<string, unknown>;
}

/** A GET request, as a client sends it over HTTP. */
export interface PathRequest extends Pick<ReportRequest, "query" | "booths" | "now_ms"> {
  /** The path without the query, for example /api/booths/b-1/runtime. */
  readonly path: string;
}

/** All reports by name. The gateway's report thread loads each report only on its first request. */
const REPORTS = new Map<string, Report>();
for (const operation of OPERATIONS) {
  const { runs } = operation;
  if (runs.kind === "booth report") REPORTS.set(nameOf(operation), { kind: runs.kind, tell: await runs.load() });
  if (runs.kind === "box report") REPORTS.set(nameOf(operation), { kind: runs.kind, tell: await runs.load() });
}

/** Returns the request that the gateway's server sends to its report thread. Throws if the path names no report. */
export function requestAt({ path, ...more }: PathRequest): ReportRequest {
  const match = matchOf("GET", path);
  if (match.kind !== "here") throw new Error(`${path} names nothing here`);
  return { operation: nameOf(match.operation), params: match.params, version: "1.0.0", ...more };
}

/** Makes the report synchronously in this thread. */
export function answerReport(request: ReportRequest, reader: StoreReader): ReportAnswer {
  const report = REPORTS.get(request.operation);
  if (report === undefined) throw new Error(`${request.operation} is no report`);
  return reportAnswer(report, request, reader);
}
