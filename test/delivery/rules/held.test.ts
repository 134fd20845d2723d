import { describe, expect, it } from "vitest";
import { heldOf, isNight, releaseAfter, NOTHING_HELD } from "../../../src/delivery/rules/held.ts";
import { nextAction, sendingFrom, type Sending } from "../../../src/delivery/rules/sending.ts";
import { thriftFor } from "../../../src/domain/traffic.ts";

const NOON = Date.UTC(2026, 2, 2, 19);
const NOW = {
  mode: "bake",
  mono: 0,
  at: NOON,
  tz: "America/Denver",
  sendable_seq: 100,
  live_seq: 100,
  hours_to_full: null,
};
const BATCHES = thriftFor(80, 100);
const BACKLOG = thriftFor(90, 100);

describe("the data budget", () => {
  it("holds new readings for ten minutes, then releases all of them, and holds later readings again", () => {
    const gone = releaseAfter(null, NOW, BATCHES);
    expect(gone.up_to).toBe(100);
    const later = { ...NOW, mono: 599_999, sendable_seq: 150 };
    expect(releaseAfter(gone, later, BATCHES)).toBe(gone);
    expect(heldOf(gone, later, BATCHES)).toEqual({ live: true, backlog: false, ms: 1 });
    const due = releaseAfter(gone, { ...later, mono: 600_000 }, BATCHES);
    expect(heldOf(due, { ...later, mono: 600_000 }, BATCHES)).toEqual(NOTHING_HELD);
    expect(heldOf(due, { ...later, mono: 600_001, live_seq: 150 }, BATCHES)).toMatchObject({ live: true });
  });

  it("releases all held readings when the mode changes", () => {
    const gone = releaseAfter(null, NOW, BATCHES);
    const changed = { ...NOW, mono: 5_000, mode: "cool_down", sendable_seq: 130 };
    const now = releaseAfter(gone, changed, BATCHES);
    expect(now.up_to).toBe(130);
    expect(heldOf(now, changed, BATCHES).live).toBe(false);
  });

  it("releases the backlog at night in the booth's time zone", () => {
    const gone = releaseAfter(null, NOW, BACKLOG);
    expect(heldOf(gone, NOW, BACKLOG).backlog).toBe(true);
    expect(heldOf(gone, { ...NOW, at: Date.UTC(2026, 2, 3, 5) }, BACKLOG).backlog).toBe(false);
    expect(isNight("America/Denver", Date.UTC(2026, 2, 3, 4, 59))).toBe(false);
    expect(isNight("America/Denver", Date.UTC(2026, 2, 3, 11, 59))).toBe(true);
    expect(isNight("America/Denver", Date.UTC(2026, 2, 3, 12))).toBe(false);
  });

  it("holds nothing if the store will be full within two days", () => {
    const gone = releaseAfter(null, NOW, BACKLOG);
    expect(heldOf(gone, { ...NOW, hours_to_full: 47 }, BACKLOG)).toEqual(NOTHING_HELD);
  });
});

describe("the sending of a log", () => {
  const free = { sendable_seq: 150, mono: 0, window: 4, under_way: 0, chunks: null };
  const known = (sending: Sending): Sending => ({ ...sending, ahead: { kind: "no" } });

  it("waits until the readings that the data budget holds are due", () => {
    const sending = known(sendingFrom({ acked_seq: 100, ahead: [] }));
    expect(nextAction(sending, free)).toMatchObject({ kind: "send", lane: "live" });
    const held = { live: true, backlog: false, ms: 7_000 };
    expect(nextAction(sending, { ...free, held })).toEqual({ kind: "news", ms: 7_000 });
    expect(nextAction(sending, { ...free, under_way: 2, held })).toEqual({ kind: "news", ms: 7_000 });
  });

  it("sends new records, but no chunks (compressed blocks) of the backlog while the data budget holds the backlog", () => {
    const base = known(sendingFrom({ acked_seq: 100, ahead: [] }));
    const lanes = { ...base.lanes, live_seq: 5_000, backlog: { seq: 100, end: 5_000 } };
    const held = { live: false, backlog: true, ms: 600_000 };
    const room = { ...free, sendable_seq: 5_010, chunks: { under_way: 0, bytes: 0 }, held };
    expect(nextAction({ ...base, lanes }, room)).toMatchObject({ kind: "send", lane: "live" });
    const done = { ...lanes, live_seq: 5_010 };
    expect(nextAction({ ...base, lanes: done }, room)).toEqual({ kind: "news", ms: 600_000 });
    const open = { ...room, held: NOTHING_HELD };
    expect(nextAction({ ...base, lanes: done }, open)).toMatchObject({ kind: "chunk", from: 101 });
  });
});
