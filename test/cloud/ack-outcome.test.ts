import { describe, expect, it } from "vitest";
import { outcomeOf } from "../../src/cloud/ack-outcome.ts";
import type { Placed } from "../../src/core/types/record.ts";
import { hashOf } from "../../src/wire/hash.ts";
import { ackShape, type AckWire } from "../../src/wire/telemetry.ts";
import { reading, T0 } from "../support/records.ts";

const records = [5, 6, 7].map((seq): Placed => ({ ...reading(seq * 1000, "mode", seq), seq, time: T0 + seq * 1000 }));
const batch = { stream: "s", records };
const named = { st: "s", s0: 5, n: 3, hash: hashOf(records), acked_seq: 7, window: 4 };
const ack = (change: Partial<AckWire>): AckWire => ackShape.parse({ ...named, ...change });
const refusal = (change: Partial<AckWire>): AckWire => ack({ n: 0, hash: hashOf([]), error: "malformed", ...change });

describe("an ack means of a batch", () => {
  it("that it is stored, where it names it with the hash of what was sent", () => {
    expect(outcomeOf(ack({}), batch, false)).toEqual({ kind: "acked", rejected: [], held_seq: 7 });
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
    expect(outcome).toEqual({ kind: "acked", rejected: [{ seq: 6, reason: "no" }], held_seq: 7 });
  });

  it("a conflict, before anything else", () => {
    expect(outcomeOf(ack({ conflict: 6, hash: "" }), batch, true)).toEqual({ kind: "conflict", seq: 6 });
  });

  it.each([
    [refusal({}), false, "refused"],
    [refusal({ s0: 0 }), true, "refused"],
    [refusal({ st: "", s0: 0 }), true, "refused"],
    [refusal({ s0: 0 }), false, "unclear"],
    [refusal({ st: "", s0: 0 }), false, "unclear"],
    [refusal({ error: "too_large" }), false, "refused"],
    [refusal({ error: "not_bound" }), false, "keep"],
    [refusal({ error: "generation", st: "", s0: 0 }), true, "keep"],
    [refusal({ error: "something new" }), true, "keep"],
    [refusal({ s0: 8 }), true, undefined],
    [refusal({ st: "other" }), true, undefined],
  ])("%o, alone %s: %s", (said, alone, kind) => {
    expect(outcomeOf(said, batch, alone)?.kind).toBe(kind);
  });
});
