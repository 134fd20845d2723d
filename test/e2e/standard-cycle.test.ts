import { describe, expect, it } from "vitest";
import type { Mode } from "../../src/core/types/booth.ts";
import { wireNameOf } from "../../src/core/wire-names.ts";
import { deriveFold } from "../../src/store/derive-fold.ts";
import { openReader } from "../../src/store/reader.ts";
import { durationByMode, frequencyByMode } from "../../src/report/modes.ts";
import { cycleCount } from "../../src/report/cycles.ts";
import { timeLineOf, type Source } from "../../src/report/source.ts";
import { utilization } from "../../src/report/utilization.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { virtualSite, type VirtualSite } from "../support/virtual-site.ts";

const HOUR = 3_600_000;
const START = Date.UTC(2026, 2, 2, 15);
const POLL_MS = 1_000;

/** Gateway's figures from its store, once the agent has stopped. */
function gatewaySource(folder: string, now_ms: number): { source: Source; close: () => void } {
  const reader = openReader(folder, deriveFold);
  const [info] = reader.streams();
  if (info === undefined) throw new Error("the store holds no stream");
  return { source: { reader, stream: info.stream, now_ms }, close: () => reader.close() };
}

function minutesByWireName(by_mode: Partial<Record<Mode, number>>): Record<string, number> {
  const entries = Object.entries(by_mode) as [Mode, number][];
  return Object.fromEntries(
    entries.filter(([, ms]) => ms > 0).map(([mode, ms]) => [wireNameOf(mode), Number((ms / 60_000).toFixed(4))]),
  );
}

function serviceModes(
  site: VirtualSite,
  figure: string,
  window: { start: number; end: number },
): Record<string, number> {
  const query = { start: new Date(window.start).toISOString(), end: new Date(window.end).toISOString() };
  const { modes } = site.service.get(`/api/booths/b-1/${figure}`, query) as {
    modes: { mode: string; duration?: number; count?: number }[];
  };
  return Object.fromEntries(
    modes.map(({ mode, duration, count }) => [mode, duration ?? count ?? 0] as const).filter(([, value]) => value > 0),
  );
}

describe("a standard cycle, from the PLC to the service", () => {
  it("is derived as it happened, and both sides say the same", async () => {
    const folder = temporaryFolder();
    const site = virtualSite({ folder, scenario: "standard-cycle", start: START });
    await site.start();
    await site.clock.run(2.5 * HOUR);
    await site.stop();
    const window = { start: START, end: START + 2.5 * HOUR };
    const truth = site.booth.truth(window.start, window.end);
    const { source, close } = gatewaySource(folder, window.end);

    // Stage by stage: the same modes in the same order, each seen at the first poll after it began.
    const { spans } = timeLineOf(source, window);
    expect(spans.map(({ mode }) => mode)).toEqual(truth.stages.map(({ mode }) => mode));
    spans.forEach(({ start }, index) => {
      const late = start - (truth.stages[index]?.start ?? 0);
      expect(late).toBeGreaterThanOrEqual(0);
      expect(late).toBeLessThanOrEqual(POLL_MS);
    });

    const { by_mode, coverage } = durationByMode(source, window);
    const total = Object.values(by_mode).reduce((sum, ms) => sum + ms, 0);
    expect(total).toBe(window.end - window.start);
    expect(coverage).toMatchObject({ inferred_ms: 0, missing_ms: 0 });
    expect(truth.cycles).toMatchObject([{ result: "complete" }]);
    expect(cycleCount(source, window)).toMatchObject({
      cycle_count: truth.cycles.length,
      derived: truth.cycles.length,
    });

    expect(serviceModes(site, "duration_by_mode", window)).toEqual(minutesByWireName(by_mode));
    const counts = frequencyByMode(source, window).by_mode;
    expect(serviceModes(site, "frequency_by_mode", window)).toEqual(
      Object.fromEntries(
        (Object.entries(counts) as [Mode, number][]).map(([mode, count]) => [wireNameOf(mode), count]),
      ),
    );
    const query = { start: new Date(window.start).toISOString(), end: new Date(window.end).toISOString() };
    expect(site.service.get("/api/booths/b-1/utilization_stats", query)).toMatchObject({
      utilization_minutes: Number((utilization(source, window).in_use_ms / 60_000).toFixed(4)),
      working_minutes: Number((utilization(source, window).working_ms / 60_000).toFixed(4)),
      cycle_count: 1,
    });
    close();
    site.close();
  });
});
