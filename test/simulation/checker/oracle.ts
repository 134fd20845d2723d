import { rows } from "../../../simulators/service/storage/db.ts";
import { type GivenUp, heldRecords, type Held } from "../records.ts";
import type { Outcome } from "../outcome.ts";

/** The data that the service stores and answers. It doesn't depend on the gateway's code. */

/** A record as stored by the service. `time` is the corrected time. */
export type OracleRow = Omit<Held, "quality">;

/** A stage of the time line that users see, in whole seconds. */
export interface OracleStage {
  /** The service's name of the mode. */
  readonly mode: string;
  readonly start: number;
  readonly end: number;
}

export interface Oracle {
  /** Streams of gateways that were replaced and never came back. */
  readonly ends: readonly { readonly stream: string }[];
  /** Streams that continue a predecessor after its last seq. */
  readonly successions: readonly { readonly stream: string; readonly predecessor_last_seq: number }[];
  readonly rows: readonly OracleRow[];
  /** Ranges that the gateway has declared as dropped. */
  readonly gaps: readonly GivenUp[];
  /** Oldest first. */
  readonly stages: readonly OracleStage[];
  readonly minutes: Readonly<Record<string, number>>;
  readonly programs: readonly string[];
}

export function oracleOf({ service, window }: Pick<Outcome, "service" | "window">): Oracle {
  const query = { start: iso(window.start), end: iso(window.end) };
  const durations = service.get("/api/booths/b-1/duration_by_mode", query) as {
    readonly modes: readonly { readonly mode: string; readonly duration: number }[];
  };
  const revisions = service.get("/api/booths/b-1/revision_history", {}) as {
    readonly program_versions: readonly { readonly version: string }[];
  };
  return {
    rows: heldRecords(service.db),
    ends: rows(
      service.db,
      `SELECT s.stream_id AS stream FROM streams s
       WHERE EXISTS (SELECT 1 FROM streams t WHERE t.booth_id = s.booth_id AND t.generation > s.generation)`,
    ),
    successions: rows(
      service.db,
      "SELECT stream_id AS stream, predecessor_last_seq FROM streams WHERE predecessor_last_seq IS NOT NULL",
    ),
    gaps: rows(
      service.db,
      `SELECT s.stream_id AS stream, g.from_seq AS "from", g.to_seq AS "to", g.reason
       FROM seq_gaps g JOIN streams s ON s.id = g.stream_no ORDER BY g.stream_no, g.from_seq`,
    ),
    stages: stagesOf(service, query),
    minutes: Object.fromEntries(durations.modes.map(({ mode, duration }) => [mode, duration])),
    programs: revisions.program_versions.map(({ version }) => version),
  };
}

function iso(at: number): string {
  return new Date(at).toISOString();
}

interface StagePage {
  readonly data: readonly { readonly mode: string; readonly start_time: string; readonly end_time: string | null }[];
  readonly pages: number;
}

function stagesOf(service: Outcome["service"], query: Readonly<Record<string, string>>): OracleStage[] {
  const stages: OracleStage[] = [];
  for (let page = 1; ; page += 1) {
    const answer = service.get("/api/booths/b-1/recent_stages", { ...query, page: page.toString() });
    const { data, pages } = answer as unknown as StagePage;
    for (const { mode, start_time, end_time } of data) {
      const start = Date.parse(start_time);
      stages.push({ mode, start, end: end_time === null ? Infinity : Date.parse(end_time) });
    }
    if (page >= pages) return stages.toSorted((a, b) => a.start - b.start);
  }
}
