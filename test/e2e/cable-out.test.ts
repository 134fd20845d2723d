import { expect, it } from "vitest";

import { durationByMode } from "../../src/reports/usage.ts";
import { timeLineOf } from "../../src/reports/source.ts";
import { recordFault } from "../support/faults.ts";
import { openSource } from "../support/figures.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { virtualSite } from "../support/virtual-site.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

const START = Date.UTC(2026, 2, 2, 15);
/** In the middle of the first spray. */
const OUT_AT = 14 * MINUTE_MS;

it.each([
  { name: "2 s", out_ms: 2_000, bridged: true },
  { name: "2 h", out_ms: 120 * MINUTE_MS, bridged: false },
])(
  "row 14: a cable out for $name is bridged or no data by the gap rule, never idle",
  async ({ name, out_ms, bridged }) => {
    const folder = temporaryFolder();
    const site = virtualSite({ folder, scenario: "standard-cycle", start: START });
    await site.start();
    await site.clock.run(OUT_AT);
    site.plc.fault = "timeout";
    await site.clock.run(out_ms);
    site.plc.fault = null;
    await site.clock.run(5000);
    const back = site.plc.reads;
    await site.clock.run(10 * MINUTE_MS);
    expect(site.plc.reads).toBeGreaterThan(back);
    await site.stop();

    const window = { start: START, end: START + OUT_AT + out_ms + 5000 + 10 * MINUTE_MS };
    const { source, close } = openSource(folder, window.end);
    const { by_mode, coverage } = durationByMode(source, window);
    const lost = Math.abs(Object.values(by_mode).reduce((sum, ms) => sum + ms, window.start - window.end));
    const { spans } = timeLineOf(source, window);
    const during = spans.filter(({ start }) => start > START + OUT_AT - 1000 && start < START + OUT_AT + out_ms);
    const wrong = during.filter(({ mode }) => bridged || mode !== "no_data").length;
    const passed = lost + wrong === 0;
    recordFault({ row: 14, fault: `cable out ${name}`, injected: 1, lost, doubled: 0, wrong, passed });
    expect({ lost, wrong }).toEqual({ lost: 0, wrong: 0 });
    if (bridged) {
      expect(coverage.missing_ms).toBe(0);
    } else {
      expect(during).toHaveLength(1);
      expect(coverage.missing_ms).toBeGreaterThan(out_ms - MINUTE_MS);
      expect(coverage.missing_ms).toBeLessThan(out_ms + 10_000);
    }
    close();
    site.close();
  },
);
