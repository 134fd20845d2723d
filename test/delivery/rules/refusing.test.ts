import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { afterRefusal, REST_MS, type Refusing } from "../../../src/delivery/rules/belief.ts";

const at = (mono: number, seq: number, records: number) => ({ seq, records, mono });

describe("what the service refuses", () => {
  it("is believed at once where it is little", () => {
    const first = afterRefusal(null, at(0, 7, 100));
    expect(first.is_believed).toBe(true);
    expect(afterRefusal(first.refusing, at(1, 107, 1)).is_believed).toBe(false);
    expect(afterRefusal(first.refusing, at(REST_MS, 107, 100)).is_believed).toBe(true);
  });

  it("is asked for again after a rest where it is much, and believed if it is refused then too", () => {
    const much = afterRefusal(null, at(0, 7, 2_400));
    expect(much.is_believed).toBe(false);
    const again = afterRefusal(much.refusing, at(REST_MS, 7, 2_400));
    expect(again.is_believed).toBe(true);
    expect(afterRefusal(again.refusing, at(REST_MS + 1, 2_407, 2_400)).is_believed).toBe(false);
    // Another answer than before.
    expect(afterRefusal(much.refusing, at(REST_MS, 8, 2_400)).is_believed).toBe(false);
  });

  it("holds nothing up for good: whatever came before, what is refused twice, a rest apart, is passed over", () => {
    const said = fc.record({ wait: fc.nat(2 * REST_MS), seq: fc.nat(20), records: fc.integer({ min: 1, max: 3_000 }) });
    fc.assert(
      fc.property(fc.array(said), (words) => {
        let refusing: Refusing | null = null;
        let mono = 0;
        for (const { wait, seq, records } of words)
          ({ refusing } = afterRefusal(refusing, { mono: (mono += wait), seq, records }));
        const once = afterRefusal(refusing, at(mono, 99, 2_400));
        expect(once.is_believed || afterRefusal(once.refusing, at(mono + REST_MS, 99, 2_400)).is_believed).toBe(true);
      }),
    );
  });
});
