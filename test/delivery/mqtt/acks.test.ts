import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { virtualClock } from "../../../simulators/virtual/clock.ts";
import { hashOf, sha256 } from "../../../src/contract/hash.ts";
import { ackShape, type AckWire } from "../../../src/contract/telemetry.ts";
import {
  type AckedBatch,
  type Acking,
  chunkOutcomeOf,
  handleAck,
  outcomeOf,
  parseAck,
  type PendingAck,
} from "../../../src/delivery/mqtt/link.ts";
import type { Placed } from "../../../src/domain/record.ts";
import { createWaiters } from "../../../src/domain/waiters.ts";
import { reading, T0 } from "../../support/records.ts";

const records = [5, 6, 7].map((seq): Placed => ({ ...reading(seq * 1000, "mode", seq), seq, time: T0 + seq * 1000 }));
const batch = { stream: "s", records };
const named = { st: "s", s0: 5, n: 3, hash: hashOf(records), acked_seq: 7, window: 4 };
const ack = (change: Partial<AckWire>): AckWire => ackShape.parse({ ...named, ...change });
const outcome = (change: Partial<AckWire>, alone = true) => outcomeOf(ack(change), batch, alone);
const hashBefore = (seq: number): string => hashOf(records.filter((record) => record.seq < seq));
const rejectionOf = (...seqs: readonly number[]) => seqs.map((seq) => ({ seq, reason: "no" }));
const refusal = (change: Partial<AckWire>): Partial<AckWire> => ({
  n: 0,
  hash: hashOf([]),
  error: "malformed",
  ...change,
});

describe("an ack of a batch", () => {
  it("marks the batch as stored if it names the batch and has the hash of the sent records", () => {
    expect(outcome({}, false)).toEqual({ kind: "acked", rejected: [], held_seq: 7, is_proven: true });
  });

  it("is compared with the hash computed at sending, or with a new hash if the ack rejects some records", () => {
    const sent = { ...batch, hash: named.hash };
    const reject = rejectionOf(7);
    expect(outcomeOf(ack({}), sent, false)?.kind).toBe("acked");
    expect(outcomeOf(ack({ hash: hashBefore(7) }), sent, false)?.kind).toBe("keep");
    expect(outcomeOf(ack({ reject, hash: hashBefore(7) }), sent, false)).toMatchObject({
      kind: "acked",
      rejected: reject,
    });
    expect(outcomeOf(ack({ reject }), sent, false)?.kind).toBe("keep");
  });

  it.each([{ st: "other" }, { s0: 4 }, { s0: 6 }, { n: 2 }, { n: 4 }])(
    "is ignored if it names another stream or range: %o",
    (change) => {
      expect(outcome(change)).toBe(null);
    },
  );

  it("acks no record if its hash differs from the hash of the sent records", () => {
    expect(outcome({ hash: hashOf(records.slice(1)) })?.kind).toBe("keep");
  });

  it("acks all records except those that it rejects, and rejects only records of the batch", () => {
    const hash = hashOf(records.filter(({ seq }) => seq !== 6));
    const rejected = rejectionOf(6);
    expect(outcome({ reject: rejectionOf(6, 99), hash })).toEqual({
      kind: "acked",
      rejected,
      held_seq: 7,
      is_proven: true,
    });
    const tooMany = rejectionOf(6, 6, 6, 6);
    expect(outcome({ reject: tooMany, hash })?.kind).toBe("keep");
    expect(outcome({ reject: tooMany })).toMatchObject({ kind: "acked", rejected: [] });
  });

  it("reports a conflict if its hash equals the hash of the records before the conflict", () => {
    expect(outcome({ conflict: 6, hash: hashBefore(6), reject: rejectionOf(7) })).toMatchObject({
      kind: "conflict",
      seq: 6,
      rejected: [],
      is_proven: true,
    });
  });

  it("does not prove storage if the conflict is at the first record or if the ack rejects every record", () => {
    const unproven = { is_proven: false };
    expect(outcome({ conflict: 5, hash: hashBefore(5) })).toMatchObject({ kind: "conflict", seq: 5, ...unproven });
    const reject = rejectionOf(5, 6, 7);
    expect(outcome({ reject, hash: hashOf([]) })).toMatchObject({ kind: "acked", rejected: reject, ...unproven });
  });

  it.each([
    [{ newest_seq: 264 }, 264],
    [{ newest_seq: null, acked_seq: 7 }, 7],
    [{ newest_seq: null, acked_seq: null }, 0],
  ])("with a conflict and %o shows that the service holds records up to %i", (held, held_seq) => {
    expect(outcome({ conflict: 6, hash: hashBefore(6), ...held })).toMatchObject({ kind: "conflict", held_seq });
  });

  it.each(["", hashOf(records), hashBefore(7), hashOf([])])(
    "is not accepted as a conflict at record 6 if its hash differs from the hash of the records before 6: %s",
    (hash) => {
      expect(outcome({ conflict: 6, hash })?.kind).toBe("keep");
    },
  );

  it.each([0, 4, 8, 264, -1, 1e18, "many", Number.NaN])(
    "with a conflict outside the batch, at %s, acks the batch only if its hash proves the storage",
    (conflict) => {
      const said = (hash: string): AckWire => ackShape.parse({ ...named, hash, conflict });
      expect(outcomeOf(said(named.hash), batch, true)?.kind).toBe("acked");
      expect(outcomeOf(said(hashOf([])), batch, true)?.kind).toBe("keep");
    },
  );

  it("has the same meaning whatever values the optional fields (hints) have", () => {
    const nonsense = fc.oneof(fc.anything({ maxDepth: 1 }), fc.double(), fc.constantFrom(-1, 0, 1e300, "", null));
    const hints = fc.record({ acked_seq: nonsense, newest_seq: nonsense, server_time: nonsense, window: nonsense });
    fc.assert(
      fc.property(hints, (said) => {
        const meant = outcomeOf(ackShape.parse({ ...named, ...said }), batch, false);
        expect(meant).toMatchObject({ kind: "acked", rejected: [], is_proven: true });
      }),
    );
  });

  it("with random content never acks a record that is not stored, and never rejects a record of another batch", () => {
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
        const meant = outcomeOf(parsed.data, batch, true);
        if (meant?.kind !== "acked" && meant?.kind !== "conflict") return;
        const refused = meant.rejected.map(({ seq }) => seq);
        const end = meant.kind === "conflict" ? meant.seq : 8;
        const stored = records.filter(({ seq }) => seq < end && !refused.includes(seq));
        expect(parsed.data).toMatchObject({ st: "s", s0: 5, n: 3, error: "", hash: hashOf(stored) });
        expect([...refused, end - 1].every((seq) => seq >= 4 && seq < end)).toBe(true);
      }),
    );
  });

  it.each([
    [{}, false, "refused"],
    [{ s0: 0 }, true, "refused"],
    [{ st: "", s0: 0 }, true, "refused"],
    [{ s0: 0 }, false, "unclear"],
    [{ st: "", s0: 0 }, false, "unclear"],
    [{ error: "too_large" }, false, "too_long"],
    [{ error: "not_bound" }, false, "keep"],
    [{ error: "generation", st: "", s0: 0 }, true, "keep"],
    [{ error: "something new" }, true, "keep"],
    [{ s0: 8 }, true, undefined],
    [{ st: "other" }, true, undefined],
  ])(
    "with the rejection fields %o (only batch in flight: %s) is interpreted as %s (undefined: ignored)",
    (change, alone, kind) => {
      expect(outcome(refusal(change), alone)?.kind).toBe(kind);
    },
  );
});

describe("an ack of a chunk (compressed block of records)", () => {
  const HASH = sha256("the message");
  const CHUNK = { stream: "s", hash: HASH, from: 11, to: 14, first_seq: 12 };
  const said = { chunk: HASH, st: "s", s0: 12, n: 4, newest_seq: 14 };
  const chunkAck = (change: object): AckWire => ackShape.parse({ ...said, ...change });
  const chunkOutcome = (change: object) => chunkOutcomeOf(chunkAck(change), CHUNK);

  it("marks the chunk as stored if it has the hash of the sent message and the chunk's range", () => {
    expect(chunkOutcome({})).toEqual({ kind: "acked", rejected: [], is_proven: true, held_seq: 14 });
  });

  it("is ignored if it names another message or a batch", () => {
    expect(chunkOutcome({ chunk: sha256("another") })).toBe(null);
    expect(chunkOutcomeOf(chunkAck({ chunk: undefined, hash: HASH }), CHUNK)).toBe(null);
    expect(outcomeOf(chunkAck({ s0: 5, n: 3 }), batch, true)).toBe(null);
  });

  it("acks all records except those that it rejects, and rejects only records of the chunk", () => {
    const reject = rejectionOf(11, 14, 15);
    expect(chunkOutcome({ reject })).toMatchObject({ kind: "acked", is_proven: true, rejected: reject.slice(0, 2) });
    const all = rejectionOf(11, 12, 13, 14);
    expect(chunkOutcome({ reject: all })).toMatchObject({ kind: "acked", is_proven: false, rejected: all });
    expect(chunkOutcome({ reject: [...all, ...all] })).toMatchObject({ kind: "acked", rejected: [] });
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
  ])("with %o acks no record and is interpreted as %s", (change, kind) => {
    expect(chunkOutcome(change)?.kind).toBe(kind);
  });

  it("with random content acks no record unless its message hash, its range and its other fields match", () => {
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
      fc.property(lie, (content) => {
        const text = JSON.stringify({ ...said, ...content });
        const heard = parseAck(Buffer.from(text));
        const meant = heard === null ? null : chunkOutcomeOf(heard, CHUNK);
        if (meant?.kind !== "acked") return;
        expect(JSON.parse(text)).toMatchObject({ chunk: HASH, st: "s" });
        expect([Number(content.s0 ?? 12), Number(content.n ?? 4), content.error ?? ""]).toEqual([12, 4, ""]);
        const { conflict } = content;
        expect(typeof conflict === "number" && conflict >= 0 && Number.isSafeInteger(conflict)).toBe(false);
        for (const { seq: refused } of meant.rejected) expect(refused >= 11 && refused <= 14).toBe(true);
      }),
    );
  });
});

describe("a message on the topic down/ack", () => {
  /** Handles an ack while the batch waits for it. */
  function received(change: Record<string, unknown>) {
    const clock = virtualClock({ wall: T0 });
    const times: number[] = [];
    const settled: AckedBatch[] = [];
    const waiting = createWaiters<PendingAck>();
    waiting.add({
      outcome: (said, alone) => outcomeOf(said, batch, alone),
      sent: clock.mono(),
      settle: (one) => void settled.push(one),
    });
    const acking: Acking = { waiting, window: 2, takes: ["before"] };
    const service_time = {
      heard: ({ time }: { time: number }) => void times.push(time),
      verdict: () => ({ synced: false, offset_ms: null }),
    };
    const message = { ...named, server_time: T0, window: 3, takes: ["chunk/1"], ...change };
    handleAck({ clock, service_time }, acking, Buffer.from(JSON.stringify(message)));
    return { window: acking.window, takes: acking.takes, times, settled };
  }

  it("sets the service's time, the send window and the accepted formats if its hash matches the sent records", () => {
    expect(received({})).toMatchObject({ window: 3, takes: ["chunk/1"], times: [T0], settled: [{ kind: "acked" }] });
    expect(received({ takes: undefined }).takes).toEqual([]);
  });

  it.each([
    ["another hash", { hash: "x" }],
    ["only rejected records and the hash of nothing", { hash: hashOf([]), reject: rejectionOf(5, 6, 7) }],
    ["a conflict at the first record", { hash: hashOf([]), conflict: 5 }],
    ["another stream", { st: "other" }],
    ["another batch", { s0: 4 }],
    ["an error", { error: "generation" }],
  ])("leaves the service's time, the send window and the accepted formats unchanged if it has %s", (_, change) => {
    expect(received(change)).toMatchObject({ window: 2, takes: ["before"], times: [] });
  });

  it("does not end the wait for a batch of another stream", () => {
    expect(received({ st: "other" }).settled).toEqual([]);
  });

  it.each([
    [null, 2],
    [0, 1],
    [1, 1],
    [3, 3],
    [1_000_000, 4],
  ])("with the send window %s limits the batches in flight to %i", (window, expected) => {
    expect(received({ window }).window).toBe(expected);
  });
});
