import type { StoreReader } from "../store/port.ts";
import type { FigureCoverage, Source } from "../reports/source.ts";
import type { Query } from "../contract/reports-query.ts";
import type { LocalBooth } from "./local-booth.ts";

/** A GET for a report, as plain data. */
export interface ReportRequest {
  /** Without the query, e.g. /api/booths/b-1/runtime */
  readonly path: string;
  readonly query: Query;
  readonly booths: readonly LocalBooth[];
  readonly now_ms: number;
}

export interface ReportAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text, or parts of a text that are made as they are asked for. */
  readonly body: string | Iterable<string>;
}

/** What one operation is answered from. */
export interface BoothAsk {
  readonly booth: LocalBooth;
  readonly source: Source;
  readonly query: Query;
  /** Zone now in force, and now: what query parameters are read with. */
  readonly clock: { readonly tz: string; readonly now: number };
}

/** `coverage`: what the figure stands on; added to the body where the query has `coverage=true`, worked out then where it costs more. */
export interface Told {
  readonly body: object;
  readonly coverage?: FigureCoverage | (() => FigureCoverage);
  readonly headers?: Readonly<Record<string, string>>;
}

export interface AllAsk extends ReportRequest {
  readonly reader: StoreReader;
}
