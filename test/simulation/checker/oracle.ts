import { rows, type Db } from "../../../simulators/service/storage/db.ts";
import { heldRecords } from "../records.ts";
import type { Outcome } from "../outcome.ts";

/** What the service holds, and what it answers to those who ask: nothing of the gateway's own code has a part in it. */

/** A record as the service stored it. */
export interface OracleRow {
  readonly stream: string;
  readonly seq: number;
  readonly kind: string;
  readonly tag: string;
  readonly boot: string;
  readonly mono: number;
  /** Corrected time. */
  readonly time: number;
  readonly value: unknown;
  readonly received_at: number;
}

/** A range that was given up with a word. */
export interface OracleGap {
  readonly stream: string;
  readonly from: number;
  readonly to: number;
  readonly reason: string;
}

/** A stage of the time line that users see, whole seconds. */
export interface OracleStage {
  /** The service's name of the mode. */
  readonly mode: string;
  readonly start: number;
  readonly end: number;
}

/** A stream that goes on from another one begins where that one ends. */
export interface OracleSuccession {
  readonly stream: string;
  readonly predecessor_last_seq: number;
}

/** A stream whose gateway another one took the place of; it never came back. */
export interface OracleEnd {
  readonly stream: string;
}

export interface Oracle {
  readonly ends: readonly OracleEnd[];
  readonly successions: readonly OracleSuccession[];
  readonly rows: readonly OracleRow[];
  readonly gaps: readonly OracleGap[];
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
    ends: rows<OracleEnd>(
      service.db,
      `SELECT s.stream_id AS stream FROM streams s
       WHERE EXISTS (SELECT 1 FROM streams t WHERE t.booth_id = s.booth_id AND t.generation > s.generation)`,
    ),
    successions: rows<OracleSuccession>(
      service.db,
      "SELECT stream_id AS stream, predecessor_last_seq FROM streams WHERE predecessor_last_seq IS NOT NULL",
    ),
    gaps: gapsOf(service.db),
    stages: stagesOf(service, query),
    minutes: Object.fromEntries(durations.modes.map(({ mode, duration }) => [mode, duration])),
    programs: revisions.program_versions.map(({ version }) => version),
  };
}

function iso(at: number): string {
  return new Date(at).toISOString();
}

function gapsOf(db: Db): OracleGap[] {
  return rows<OracleGap>(
    db,
    `SELECT s.stream_id AS stream, g.from_seq AS "from", g.to_seq AS "to", g.reason
     FROM seq_gaps g JOIN streams s ON s.id = g.stream_no ORDER BY g.stream_no, g.from_seq`,
  );
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
