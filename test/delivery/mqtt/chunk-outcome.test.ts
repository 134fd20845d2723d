import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sha256 } from "../../../src/contract/hash.ts";
import { ackShape, type AckWire } from "../../../src/contract/telemetry.ts";
import { chunkOutcomeOf, outcomeOf, parseAck } from "../../../src/delivery/mqtt/acks.ts";
import { THREE_RECORDS } from "../../support/records.ts";

const HASH = sha256("the message");
const CHUNK = { stream: "s", hash: HASH, from: 11, to: 14, first_seq: 12 };
const named = { chunk: HASH, st: "s", s0: 12, n: 4, newest_seq: 14 };
const ack = (change: object): AckWire => ackShape.parse({ ...named, ...change });
const outcome = (change: object) => chunkOutcomeOf(ack(change), CHUNK);

describe("an ack means of a chunk", () => {
  it("that all of it is stored, where it names its message, and its range with it", () => {
    expect(outcome({})).toEqual({ kind: "acked", rejected: [], is_proven: true, held_seq: 14 });
  });

  it("nothing, where it names another message, or a batch", () => {
    expect(outcome({ chunk: sha256("another") })).toBe(null);
    expect(chunkOutcomeOf(ack({ chunk: undefined, hash: HASH }), CHUNK)).toBe(null);
    expect(outcomeOf(ack({ s0: 1, n: 3 }), { stream: "s", records: THREE_RECORDS }, true)).toBe(null);
  });

  it("that all is stored but what it rejects, and only of its own records", () => {
    const reject = [11, 14, 15].map((seq) => ({ seq, reason: "no" }));
    expect(outcome({ reject })).toMatchObject({ kind: "acked", is_proven: true, rejected: reject.slice(0, 2) });
    const all = [11, 12, 13, 14].map((seq) => ({ seq, reason: "no" }));
    expect(outcome({ reject: all })).toMatchObject({ kind: "acked", is_proven: false, rejected: all });
    expect(outcome({ reject: [...all, ...all] })).toMatchObject({ kind: "acked", rejected: [] });
  });

  it.each([
    [{ error: "malformed: n", n: 0 }, "refused"],
    [{ error: "generation", st: "", s0: 0, n: 0 }, "refused"],
    [{ conflict: 13 }, "conflict"],
    [{ conflict: 999 }, "conflict"],
    [{ n: 0 }, "refused"],
    [{ n: 3 }, "refused"],
    [{ s0: 11 }, "refused"],
    [{ st: "other" }, "refused"],
  ])("that nothing of it is stored: %o", (change, kind) => {
    expect(outcome(change)?.kind).toBe(kind);
  });

  it("never more than the truth, whatever is said of it", () => {
    const seq = fc.oneof(fc.integer({ min: -2, max: 20 }), fc.anything({ maxDepth: 1 }));
    const lie = fc.record(
      {
        st: fc.constantFrom("s", "s", "other"),
        s0: fc.oneof(fc.constant(12), seq),
        n: fc.oneof(fc.constant(4), seq),
        chunk: fc.oneof(fc.constantFrom(HASH, HASH.toUpperCase(), "", sha256("x")), fc.anything({ maxDepth: 1 })),
        hash: fc.constantFrom(HASH, ""),
        reject: fc.array(fc.record({ seq, reason: fc.string() }), { maxLength: 6 }),
        conflict: fc.option(seq),
        error: fc.constantFrom("", "", "malformed", "generation"),
        takes: fc.anything({ maxDepth: 2 }),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(lie, (said) => {
        const text = JSON.stringify({ ...named, ...said });
        const heard = parseAck(Buffer.from(text));
        const meant = heard === null ? null : chunkOutcomeOf(heard, CHUNK);
        if (meant?.kind !== "acked") return;
        expect(JSON.parse(text)).toMatchObject({ chunk: HASH, st: "s" });
        expect([Number(said.s0 ?? 12), Number(said.n ?? 4), said.error ?? ""]).toEqual([12, 4, ""]);
        expect(typeof said.conflict === "number" && said.conflict >= 0 && Number.isSafeInteger(said.conflict)).toBe(
          false,
        );
        for (const { seq: refused } of meant.rejected) expect(refused >= 11 && refused <= 14).toBe(true);
      }),
    );
  });
});
