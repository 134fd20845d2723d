import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { outcomeOf } from "../../../src/delivery/mqtt/acks.ts";
import type { Placed } from "../../../src/domain/record.ts";
import { hashOf } from "../../../src/contract/hash.ts";
import { ackShape, type AckWire } from "../../../src/contract/telemetry.ts";
import { reading, T0 } from "../../support/records.ts";

const records = [5, 6, 7].map((seq): Placed => ({ ...reading(seq * 1000, "mode", seq), seq, time: T0 + seq * 1000 }));
const batch = { stream: "s", records };
const named = { st: "s", s0: 5, n: 3, hash: hashOf(records), acked_seq: 7, window: 4 };
const ack = (change: Partial<AckWire>): AckWire => ackShape.parse({ ...named, ...change });
const hashBefore = (seq: number): string => hashOf(records.filter((record) => record.seq < seq));
const refusal = (change: Partial<AckWire>): AckWire => ack({ n: 0, hash: hashOf([]), error: "malformed", ...change });

describe("an ack means of a batch", () => {
  it("that it is stored, where it names it with the hash of what was sent", () => {
    expect(outcomeOf(ack({}), batch, false)).toEqual({
      kind: "acked",
      rejected: [],
      held_seq: 7,
      is_proven: true,
    });
  });

  it("the same, where the hash of the whole was made when it was sent; of a part it is made anew", () => {
    const sent = { ...batch, hash: named.hash };
    expect(outcomeOf(ack({}), sent, false)?.kind).toBe("acked");
    expect(outcomeOf(ack({ hash: hashBefore(7) }), sent, false)?.kind).toBe("keep");
    const reject = [{ seq: 7, reason: "no" }];
    expect(outcomeOf(ack({ reject, hash: hashBefore(7) }), sent, false)).toMatchObject({
      kind: "acked",
      rejected: reject,
    });
    expect(outcomeOf(ack({ reject }), sent, false)?.kind).toBe("keep");
  });

  it.each([{ st: "other" }, { s0: 4 }, { s0: 6 }, { n: 2 }, { n: 4 }])("nothing, where it names %o", (change) => {
    expect(outcomeOf(ack(change), batch, true)).toBe(null);
  });

  it("nothing good, where the hash is another one", () => {
    expect(outcomeOf(ack({ hash: hashOf(records.slice(1)) }), batch, true)?.kind).toBe("keep");
  });

  it("that all is stored but what it rejects, and only of its own records", () => {
    const reject = [
      { seq: 6, reason: "no" },
      { seq: 99, reason: "no" },
    ];
    const hash = hashOf(records.filter(({ seq }) => seq !== 6));
    const outcome = outcomeOf(ack({ reject, hash }), batch, true);
    expect(outcome).toEqual({
      kind: "acked",
      rejected: [{ seq: 6, reason: "no" }],
      held_seq: 7,
      is_proven: true,
    });
  });

  it("a conflict within it, where the hash is over what was sent before", () => {
    const said = ack({ conflict: 6, hash: hashBefore(6), reject: [{ seq: 7, reason: "no" }] });
    expect(outcomeOf(said, batch, true)).toMatchObject({ kind: "conflict", seq: 6, rejected: [], is_proven: true });
  });

  it("a conflict at its first record proves nothing", () => {
    const said = ack({ conflict: 5, hash: hashBefore(5) });
    expect(outcomeOf(said, batch, true)).toMatchObject({ kind: "conflict", seq: 5, rejected: [], is_proven: false });
  });

  it.each([
    [{ newest_seq: 264 }, 264],
    [{ newest_seq: null, acked_seq: 7 }, 7],
    [{ newest_seq: null, acked_seq: null }, 0],
  ])("with a conflict, how far the service has the stream: %o", (held, held_seq) => {
    const said = ack({ conflict: 6, hash: hashBefore(6), ...held });
    expect(outcomeOf(said, batch, true)).toMatchObject({ kind: "conflict", seq: 6, held_seq });
  });

  it.each(["", hashOf(records), hashBefore(7), hashOf([])])("no conflict at 6, where the hash is %s", (hash) => {
    expect(outcomeOf(ack({ conflict: 6, hash }), batch, true)?.kind).toBe("keep");
  });

  it.each([0, 4, 8, 264, -1, 1e18, "many", Number.NaN])(
    "what its hash proves, where it names a conflict at %s",
    (conflict) => {
      const said = (hash: string): AckWire => ackShape.parse({ ...named, hash, conflict });
      expect(outcomeOf(said(named.hash), batch, true)?.kind).toBe("acked");
      expect(outcomeOf(said(hashOf([])), batch, true)?.kind).toBe("keep");
    },
  );

  it("nothing of what it rejects, where the list is longer than the batch", () => {
    const reject = Array.from({ length: 4 }, () => ({ seq: 6, reason: "no" }));
    expect(outcomeOf(ack({ reject, hash: hashOf(records.filter(({ seq }) => seq !== 6)) }), batch, true)?.kind).toBe(
      "keep",
    );
    expect(outcomeOf(ack({ reject }), batch, true)).toMatchObject({ kind: "acked", rejected: [] });
  });

  it("that nothing proves it, where all is rejected", () => {
    const reject = records.map(({ seq }) => ({ seq, reason: "no" }));
    const outcome = outcomeOf(ack({ reject, hash: hashOf([]) }), batch, true);
    expect(outcome).toMatchObject({ kind: "acked", rejected: reject, is_proven: false });
  });

  it("the same, whatever any field says that is only a hint", () => {
    const nonsense = fc.oneof(fc.anything({ maxDepth: 1 }), fc.double(), fc.constantFrom(-1, 0, 1e300, "", null));
    const hints = fc.record({ acked_seq: nonsense, newest_seq: nonsense, server_time: nonsense, window: nonsense });
    fc.assert(
      fc.property(hints, (said) => {
        const outcome = outcomeOf(ackShape.parse({ ...named, ...said }), batch, false);
        expect(outcome).toMatchObject({ kind: "acked", rejected: [], is_proven: true });
      }),
    );
  });

  it("never more than the truth, whatever is said of it: no record counts as stored that isn't, none as refused of another batch", () => {
    const seqs = fc.integer({ min: -2, max: 12 });
    const lie = fc.record(
      {
        st: fc.constantFrom("s", "other", ""),
        s0: seqs,
        n: seqs,
        hash: fc.constantFrom(...[3, 5, 6, 7, 8].map(hashBefore), "x"),
        reject: fc.array(fc.record({ seq: seqs, reason: fc.string() }), { maxLength: 5 }),
        conflict: fc.option(seqs),
        error: fc.constantFrom("", "", "malformed", "generation"),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(lie, (said) => {
        const parsed = ackShape.safeParse({ ...named, ...said });
        if (!parsed.success) return;
        const outcome = outcomeOf(parsed.data, batch, true);
        if (outcome?.kind !== "acked" && outcome?.kind !== "conflict") return;
        const refused = outcome.rejected.map(({ seq }) => seq);
        const end = outcome.kind === "conflict" ? outcome.seq : 8;
        const stored = records.filter(({ seq }) => seq < end && !refused.includes(seq));
        expect(parsed.data).toMatchObject({ st: "s", s0: 5, n: 3, error: "", hash: hashOf(stored) });
        expect([...refused, end - 1].every((seq) => seq >= 4 && seq < end)).toBe(true);
      }),
    );
  });

  it.each([
    [refusal({}), false, "refused"],
    [refusal({ s0: 0 }), true, "refused"],
    [refusal({ st: "", s0: 0 }), true, "refused"],
    [refusal({ s0: 0 }), false, "unclear"],
    [refusal({ st: "", s0: 0 }), false, "unclear"],
    [refusal({ error: "too_large" }), false, "too_long"],
    [refusal({ error: "not_bound" }), false, "keep"],
    [refusal({ error: "generation", st: "", s0: 0 }), true, "keep"],
    [refusal({ error: "something new" }), true, "keep"],
    [refusal({ s0: 8 }), true, undefined],
    [refusal({ st: "other" }), true, undefined],
  ])("%o, alone %s: %s", (said, alone, kind) => {
    expect(outcomeOf(said, batch, alone)?.kind).toBe(kind);
  });
});
