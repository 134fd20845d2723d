import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  afterSending,
  afterReOffer,
  nextAction,
  sendingFrom,
  taken,
  verdictOf,
  type Sending,
  type Silence,
} from "../../../src/delivery/rules/sending.ts";

/** What the service makes of a batch. */
type Answer = "acked" | "silent" | "lost";

interface Delivery {
  readonly set_aside: readonly number[];
  readonly acked: ReadonlySet<number>;
  readonly sessions: number;
}

interface Life {
  readonly newest: number;
  readonly set_aside: number[];
  readonly acked: Set<number>;
  acked_seq: number;
  silence: Silence | null;
}

const BATCH = 40;
/** Many more than any of these lives needs. */
const MOST_SESSIONS = 2_000;

/** One session, one batch at a time; ends with the first that can't be shown to have arrived, or with the log. */
function oneSession(life: Life, answer: (from: number, to: number) => Answer): void {
  let sending: Sending = sendingFrom(life.acked_seq, { silence: life.silence, first_seq: 1 });
  for (;;) {
    const turn = nextAction(sending, { sendable_seq: life.newest, mono: 0, window: 1, under_way: 0, chunks: null });
    if (turn.kind === "re-offer") {
      const isAnswered = answer(turn.seq, turn.seq) === "acked";
      sending = afterReOffer(sending, isAnswered ? "acked" : "keep");
      life.silence = sending.silence;
      if (!isAnswered) return;
    } else if (turn.kind === "send") {
      const from = sending.lanes.live_seq + 1;
      const to = Math.min(life.newest, from + (turn.limit ?? BATCH) - 1);
      const records = to - from + 1;
      sending = afterSending(sending, turn.lane, { to, records, mono: 0, rate: null });
      sending = outcomeOf(life, sending, { from, to, heard: answer(from, to) });
      if (sending.is_over) return;
    } else return;
  }
}

function outcomeOf(life: Life, sending: Sending, at: { from: number; to: number; heard: Answer }): Sending {
  const { from, to, heard } = at;
  const range = {
    from,
    to,
    records: to - from + 1,
    is_chunk: false,
    sendable_seq: life.newest,
    refusals: 0,
    vouched: null,
    offered_seq: 0,
  };
  const kept = { kind: "keep", reason: "no ack in time", is_silent: heard === "silent" } as const;
  const outcome = heard === "acked" ? ({ kind: "acked", rejected: [], is_proven: true, held_seq: to } as const) : kept;
  const next = verdictOf(sending, range, outcome);
  life.silence = next.sending.silence;
  if (next.verdict.kind === "end") return next.sending;
  if (next.verdict.kind === "set_aside") life.set_aside.push(to);
  else for (let seq = from; seq <= to; seq += 1) life.acked.add(seq);
  const moved = taken(next.sending, range);
  life.acked_seq = moved.verdict.up_to;
  return moved.sending;
}

function deliver(newest: number, answer: (from: number, to: number) => Answer): Delivery {
  const life: Life = { newest, set_aside: [], acked: new Set(), acked_seq: 0, silence: null };
  let sessions = 0;
  while (life.acked_seq < newest && sessions < MOST_SESSIONS) {
    oneSession(life, answer);
    sessions += 1;
  }
  return { set_aside: life.set_aside, acked: life.acked, sessions };
}

describe("records that the service never answers", () => {
  it("are found and set aside, and everything else arrives", () => {
    const lives = fc.record({
      newest: fc.integer({ min: 2, max: 400 }),
      poison: fc.uniqueArray(fc.integer({ min: 2, max: 400 }), { minLength: 1, maxLength: 3 }),
    });
    fc.assert(
      fc.property(lives, ({ newest, poison }) => {
        const here = poison.filter((seq) => seq <= newest).sort((a, b) => a - b);
        const isIn = (from: number, to: number): boolean => here.some((seq) => seq >= from && seq <= to);
        const done = deliver(newest, (from, to) => (isIn(from, to) ? "silent" : "acked"));
        expect(done.set_aside).toEqual(here);
        expect(done.acked.size).toBe(newest - here.length);
        // Halved down to one, then alone three times.
        expect(done.sessions).toBeLessThanOrEqual(1 + here.length * (Math.ceil(Math.log2(BATCH)) + 4));
      }),
      { numRuns: 1_000 },
    );
  });

  it("aren't blamed where connections break or the whole service is silent: everything arrives in the end", () => {
    const lives = fc.record({ newest: fc.integer({ min: 1, max: 300 }), odds: fc.array(fc.nat(9), { minLength: 20 }) });
    fc.assert(
      fc.property(lives, ({ newest, odds }) => {
        let asked = 0;
        const done = deliver(newest, () => ((odds[asked++ % odds.length] ?? 0) < 6 || asked < 50 ? "lost" : "acked"));
        expect(done.set_aside).toEqual([]);
        expect(done.sessions === MOST_SESSIONS || done.acked.size === newest).toBe(true);
      }),
      { numRuns: 1_000 },
    );
  });

  it("aren't blamed by a service that answers nothing, however long that takes", () => {
    let asked = 0;
    // An hour's sessions without a word; a record that was acked before is offered, and goes unanswered too.
    const done = deliver(100, (from) => (from <= 20 && asked === 0 ? "acked" : ++asked < 300 ? "silent" : "acked"));
    expect(done.set_aside).toEqual([]);
    expect(done.acked.size).toBe(100);
  });

  it("offer no record once more that went under another name: at the service it is another stream's", () => {
    const silence: Silence = { from: 101, to: 101, limit: 1, alone: 0, re_offer_seq: 100 };
    const now = { sendable_seq: 110, mono: 0, window: 1, under_way: 0, chunks: null };
    const turnFrom = (first_seq: number) => nextAction(sendingFrom(100, { silence, first_seq }), now);
    expect(turnFrom(100)).toEqual({ kind: "re-offer", seq: 100 });
    expect(turnFrom(101)).toEqual({ kind: "send", lane: "live", limit: 1 });
  });

  it("stay where they are while nothing was ever acked: nobody knows then that it is they", () => {
    const done = deliver(10, (from) => (from === 1 ? "silent" : "acked"));
    expect(done).toMatchObject({ set_aside: [], sessions: MOST_SESSIONS });
  });
});
