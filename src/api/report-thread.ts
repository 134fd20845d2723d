import type { AgentStatus } from "../domain/status.ts";
import type { BoothId } from "../domain/units.ts";
import type { StoreReader, Window } from "../store/port.ts";
import { operationNamed } from "./operations.ts";
import { type LocalBooth, localBooths, reportAnswer, reportsNow } from "./report.ts";
import type { Report, ReportAnswer, ReportRequest } from "./report.ts";

/** A request for a booth's figures in a past window, as plain data for the reports thread. */
export interface FiguresRequest {
  readonly booth: LocalBooth;
  readonly window: Window;
  readonly now_ms: number;
}

/** Returns the request for a booth's figures in a window. Throws for an unknown booth. */
export function figuresOf(named: BoothId, window: Window, status: AgentStatus): FiguresRequest {
  const booth = localBooths(status).find((one) => one.booth === named);
  if (booth === undefined) throw new Error(`there is no booth ${named}`);
  const now_ms = reportsNow(status);
  return { booth, window: { start: Math.min(window.start, now_ms), end: Math.min(window.end, now_ms) }, now_ms };
}

/** Loads the report of an operation. Rejects if the operation isn't a report. */
export async function reportMaker(request: ReportRequest): Promise<(reader: StoreReader) => ReportAnswer> {
  const runs = operationNamed(request.operation)?.runs;
  if (runs === undefined || runs.kind === "control") throw new Error(`${request.operation} is no report`);
  const report = { kind: runs.kind, tell: await runs.load() } as Report;
  return (reader) => reportAnswer(report, request, reader);
}

/** The gateway's figures for a comparison with the service's figures, in the contract's shapes. */
export type OwnFigures = ReturnType<Awaited<ReturnType<typeof figuresMaker>>>;

/** Returns a function that computes the figures from a reader's snapshot of the store. */
export async function figuresMaker({ booth, window, now_ms }: FiguresRequest) {
  const [time, facts] = await Promise.all([import("./report-time.ts"), import("./report-records.ts")]);
  return (reader: StoreReader) => {
    const source = { reader, stream: booth.log, now_ms };
    return {
      duration_by_mode: time.durationFigure(source, window, booth.booth_id).body,
      frequency_by_mode: time.frequencyFigure(source, window, booth.booth_id).body,
      runtime: time.runtimeFigure(source, window).body,
      utilization_stats: time.utilizationFigure(source, window).body,
      filter_maintenance_history: facts.filterChanges(source, window, {}),
    };
  };
}
