import { expect } from "vitest";
import { rows } from "../../simulators/service/storage/db.ts";
import { recordFault } from "../support/faults.ts";
import type { Played } from "./play.ts";

/** Records and checks the counts of a story about the clock. `play` has already compared each transition with the model's time. */
export function tellFault(
  fault: string,
  { row = 37, injected }: { readonly row?: number; readonly injected: number },
  { site, source, figures, truth }: Played,
): void {
  const [info] = source.reader.streams();
  const seqs = rows<{ seq: number }>(site.service.db, "SELECT seq FROM records ORDER BY seq").map(({ seq }) => seq);
  const doubled = seqs.length - new Set(seqs).size;
  const lost = (info?.acked_seq ?? 0) - new Set(seqs.filter((seq) => seq <= (info?.acked_seq ?? 0))).size;
  const wrong = Math.abs(figures.cycle_count - truth.cycle_increments);
  const passed = lost === 0 && doubled === 0 && wrong === 0;
  recordFault({ row, fault, injected, lost, doubled, wrong, passed });
  expect({ lost, doubled, wrong }).toEqual({ lost: 0, doubled: 0, wrong: 0 });
}
