import { expect, it } from "vitest";
import { cycleCount } from "../../src/reports/cycles.ts";
import { durationByMode } from "../../src/reports/usage.ts";
import { timeLineOf } from "../../src/reports/source.ts";
import { gatewayFigures, openSource, serviceFigures } from "../support/figures.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { virtualSite } from "../support/virtual-site.ts";

const START = Date.UTC(2026, 2, 2, 15);
const LENGTH_MS = 2.5 * 3_600_000;
const POLL_MS = 1_000;

it("a standard cycle is derived as it happened, and both sides say the same", async () => {
  const folder = temporaryFolder();
  const site = virtualSite({ folder, scenario: "standard-cycle", start: START });
  await site.start();
  await site.clock.run(LENGTH_MS);
  await site.stop();
  const window = { start: START, end: START + LENGTH_MS };
  const truth = site.booth.truth(window.start, window.end);
  const { source, close } = openSource(folder, window.end);

  // Stage by stage: the same modes in the same order, each seen at the first poll after it began.
  const { spans } = timeLineOf(source, window);
  expect(spans.map(({ mode }) => mode)).toEqual(truth.stages.map(({ mode }) => mode));
  spans.forEach(({ start }, index) => {
    const late = start - (truth.stages[index]?.start ?? 0);
    expect(late).toBeGreaterThanOrEqual(0);
    expect(late).toBeLessThanOrEqual(POLL_MS);
  });

  const { by_mode, coverage } = durationByMode(source, window);
  expect(Object.values(by_mode).reduce((sum, ms) => sum + ms, 0)).toBe(LENGTH_MS);
  expect(coverage).toMatchObject({ inferred_ms: 0, missing_ms: 0 });
  expect(truth.cycles).toMatchObject([{ result: "complete" }]);
  expect(cycleCount(source, window)).toMatchObject({ cycle_count: 1, derived: 1 });

  expect(serviceFigures(site.service, window)).toEqual(gatewayFigures(source, window));
  close();
  site.close();
});
