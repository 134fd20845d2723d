import { isDeepStrictEqual } from "node:util";
import { timeLineOf } from "../../src/reports/source.ts";
import { rows } from "../../simulators/service/storage/db.ts";
import { recordFault } from "../support/faults.ts";
import { gatewayFigures, openSource, serviceFigures } from "../support/figures.ts";
import type { VirtualSite } from "../support/virtual-site.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

const POLL_MS = 1000;

export interface Outcome {
  readonly agree: boolean;
  readonly wrong: number;
  readonly lost: number;
  readonly doubled: number;
}

export interface Comparison {
  /** From where on both sides are compared, and what the booth really did. */
  readonly from: number;
  readonly truth_from?: number;
  /** How far off a clock may be that only a whole second could put right. */
  readonly slack_ms?: number;
}

/** Both sides against each other and against what the booth really did. */
export async function outcomeOf(site: VirtualSite, folder: string, compare: Comparison): Promise<Outcome> {
  const { from, truth_from = from, slack_ms = 0 } = compare;
  await site.stop();
  const now = site.clock.truth();
  const { source, close } = openSource(folder, now);
  const window = { start: from, end: now - MINUTE_MS };
  const spans = timeLineOf(source, window).spans.filter(({ start }) => start > truth_from);
  const truth = site.booth.truth(truth_from, window.end).stages.filter(({ start }) => start > truth_from);
  const late = truth.map(({ start, mode }, index) => {
    const span = spans[index];
    return span?.mode === mode && span.start - start >= -slack_ms && span.start - start <= POLL_MS + slack_ms;
  });
  const wrong = late.filter((fits) => !fits).length + Math.abs(spans.length - truth.length);
  const agree = isDeepStrictEqual(serviceFigures(site.service, window), gatewayFigures(source, window));
  const [info] = source.reader.streams();
  const seqs = rows<{ seq: number }>(site.service.db, "SELECT seq FROM records ORDER BY seq").map(({ seq }) => seq);
  const acked = info?.acked_seq ?? 0;
  const lost = acked - new Set(seqs.filter((seq) => seq <= acked)).size;
  close();
  site.close();
  return { agree, wrong, lost, doubled: seqs.length - new Set(seqs).size };
}

/** Of the fault matrix: the box's own clock is wrong; the service lies about the time. */
type Row = 37 | 46;

export function record(fault: string, { wrong, lost, doubled, agree }: Outcome, row: Row = 37): void {
  const passed = agree && wrong === 0 && lost === 0 && doubled === 0;
  recordFault({ row, fault, injected: 1, lost, doubled, wrong, passed });
}

export function storedIn(site: VirtualSite): number {
  return rows<{ n: number }>(site.service.db, "SELECT count(*) AS n FROM records")[0]?.n ?? -1;
}
