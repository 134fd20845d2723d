import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Change, Condition } from "../../src/notices/rules/events.ts";
import {
  type Bundle,
  emptyLedger,
  type Ledger,
  MAX_LINES,
  MAX_WAITING,
  nextStep,
  putBack,
  observed,
  ofBooths,
  type Plan,
  quietUntil,
  withChanges,
  delivered,
} from "../../src/notices/rules/ledger.ts";

/** Monday 2026-03-02 15:00 in UTC. */
const T0 = Date.UTC(2026, 2, 2, 15);
const MIN = 60_000;
const HOUR = 60 * MIN;
const PLAN: Plan = { events: ["fault", "incident", "link"], urgent: ["fault"], max_per_hour: 3, quiet: null };
const QUIET: Plan = { ...PLAN, quiet: { from_ms: 22 * HOUR, to_ms: 6 * HOUR, tz: "UTC" } };

const began = (key: string, at: number, booth = "booth-1") => ({
  booth,
  changes: [{ kind: "began", key: `incident ${key}`, class: "incident", what: key, at }] as readonly Change[],
});
const ended = (key: string, at: number, booth = "booth-1") => ({
  booth,
  changes: [{ kind: "ended", key: `incident ${key}`, at }] as readonly Change[],
});
const fault = (is: Condition["is"], since: number): Condition => ({
  key: "fault",
  class: "fault",
  what: "fault",
  is,
  since,
});
const look = (ledger: Ledger, one: Condition, plan = PLAN): Ledger =>
  observed(ledger, { booth: "booth-1", conditions: [one], open_incidents: null, time: one.since }, plan);
const saw = (...steps: readonly ReturnType<typeof began>[]): Ledger =>
  steps.reduce((ledger, step) => withChanges(ledger, step, PLAN), emptyLedger());

/** Returns a short text of a bundle. */
const shown = ({ events, more }: Bundle): string =>
  [...events.map(({ what, state }) => `${what} ${state}`), ...(more > 0 ? [`${more} more`] : [])].join(", ");

/** Sends what is due now; returns its text and the ledger after it. */
function send(ledger: Ledger, now: number, plan = PLAN): { readonly told: string | null; readonly ledger: Ledger } {
  const step = nextStep(ledger, plan, { now, id: "id" });
  if (step.kind === "wait") return { told: null, ledger };
  return { told: shown(step.bundle), ledger: delivered(step.ledger, { at: now, what: "", answer: "" }) };
}

describe("a notice event", () => {
  it("is sent when the event begins, and again when the event ends", () => {
    const first = send(saw(began("a", T0)), T0);
    expect(first.told).toBe("a began");
    const over = send(withChanges(first.ledger, ended("a", T0 + MIN), PLAN), T0 + MIN);
    expect(over.told).toBe("a ended");
    expect(send(over.ledger, T0 + 2 * MIN).told).toBeNull();
  });

  it("is sent only once if the event ends before its beginning is sent", () => {
    expect(send(saw(began("a", T0), ended("a", T0 + MIN)), T0 + MIN).told).toBe("a passed");
  });

  it("is not sent again if the log is read again or the condition stays on", () => {
    const { ledger } = send(saw(began("a", T0)), T0);
    expect(send(withChanges(ledger, began("a", T0), PLAN), T0).told).toBeNull();
    const open = send(look(emptyLedger(), fault("on", T0)), T0).ledger;
    expect(send(look(open, fault("on", T0)), T0).told).toBeNull();
    // An unsure condition does not end it.
    expect(send(look(open, fault("unsure", T0 + MIN)), T0 + MIN).told).toBeNull();
  });

  it("is not sent if its class is not configured", () => {
    const plan = { ...PLAN, events: ["link"] as const };
    expect(withChanges(emptyLedger(), began("a", T0), plan).waiting).toEqual([]);
  });

  it("is sent once from the log if the event begins and ends between two checks of the booth", () => {
    const passed = {
      kind: "passed",
      key: "fault",
      class: "fault",
      what: "fault",
      began: T0,
      ended: T0 + 2_000,
    } as const;
    const log = { booth: "booth-1", changes: [passed] };
    const unseen = send(withChanges(emptyLedger(), log, PLAN), T0 + MIN);
    expect(unseen.told).toBe("fault passed");
    expect(send(withChanges(unseen.ledger, log, PLAN), T0 + MIN).told).toBeNull();
    // If looks saw both, the log adds nothing; if they saw only the beginning, the log adds the end.
    const begun = send(look(emptyLedger(), fault("on", T0)), T0).ledger;
    const both = send(look(begun, fault("off", T0 + 2_000)), T0 + MIN);
    expect(both.told).toBe("fault ended");
    expect(send(withChanges(both.ledger, log, PLAN), T0 + MIN).told).toBeNull();
    expect(send(withChanges(begun, log, PLAN), T0 + MIN).told).toBe("fault ended");
    // A newer event is open when the log tells of the older: the older one's end does not end it.
    const newer = send(look(both.ledger, fault("on", T0 + 5_000)), T0 + 5_000).ledger;
    expect(send(withChanges(newer, log, PLAN), T0 + MIN).told).toBeNull();
  });

  it("is dropped when the event's booth or condition is removed", () => {
    const open = send(look(emptyLedger(), fault("on", T0)), T0).ledger;
    expect(ofBooths(open, ["booth-2"]).open).toEqual({});
    expect(ofBooths(open, ["booth-1"]).open).toEqual(open.open);
    const none = observed(open, { booth: "booth-1", conditions: [], open_incidents: null, time: T0 }, PLAN);
    expect(none.open).toEqual({});
  });

  it("counts as ended if the booth's log has no open incident", () => {
    const open = send(saw(began("a", T0)), T0).ledger;
    const none = observed(open, { booth: "booth-1", conditions: [], open_incidents: 0, time: T0 + MIN }, PLAN);
    expect(send(none, T0 + MIN).told).toBe("a ended");
    // Another booth's event stays open.
    const other = observed(open, { booth: "booth-10", conditions: [], open_incidents: 0, time: T0 + MIN }, PLAN);
    expect(other.open).toEqual(open.open);
  });
});

describe("notice events that can't be sent immediately", () => {
  it("are sent as one message at the end of the quiet hours, unless they are urgent", () => {
    const night = Date.UTC(2026, 2, 2, 23);
    let ledger = withChanges(emptyLedger(), began("a", night), QUIET);
    ledger = withChanges(ledger, began("b", night + MIN), QUIET);
    expect(send(ledger, night + MIN, QUIET).told).toBeNull();
    expect(nextStep(ledger, QUIET, { now: night, id: "" })).toEqual({ kind: "wait", until: Date.UTC(2026, 2, 3, 6) });
    ledger = look(ledger, fault("on", night + 2 * MIN), QUIET);
    const urgent = send(ledger, night + 2 * MIN, QUIET);
    expect(urgent.told).toBe("fault began");
    ledger = withChanges(urgent.ledger, ended("a", night + HOUR), QUIET);
    const morning = send(ledger, Date.UTC(2026, 2, 3, 6), QUIET);
    expect(morning.told).toBe("a passed, b began");
  });

  it("are sent as one message once the limit per hour permits another message", () => {
    let ledger = emptyLedger();
    for (const [index, name] of ["a", "b", "c", "d", "e"].entries()) {
      ledger = withChanges(ledger, began(name, T0 + index), PLAN);
      ledger = send(ledger, T0 + index).ledger;
    }
    expect(ledger.waiting.map(({ what }) => what)).toEqual(["d", "e"]);
    const step = nextStep(ledger, PLAN, { now: T0 + MIN, id: "" });
    expect(step).toEqual({ kind: "wait", until: T0 + HOUR });
    expect(send(ledger, T0 + HOUR).told).toBe("d began, e began");
  });

  it("are replaced by their number if there are too many, and no end is sent for such an event", () => {
    const all = Array.from({ length: MAX_WAITING + 5 }, (_, index) => began(index.toString(), T0 + index));
    const ledger = saw(...all);
    const first = nextStep(ledger, PLAN, { now: T0, id: "id" });
    if (first.kind !== "send") throw new Error("nothing goes");
    expect(first.bundle.events).toHaveLength(MAX_LINES);
    expect(first.bundle.more).toBe(MAX_WAITING + 5 - MAX_LINES);
    // The oldest five were dropped, and counted events have no end.
    const after = delivered(first.ledger, { at: T0, what: "", answer: "" });
    const over = [0, 5, 60].reduce((now, index) => withChanges(now, ended(index.toString(), T0 + HOUR), PLAN), after);
    expect(over.waiting.map(({ what }) => what)).toEqual(["5"]);
  });

  it("wait again after a failed attempt, and are sent in one message with newer events", () => {
    const step = nextStep(saw(began("a", T0)), PLAN, { now: T0, id: "first" });
    if (step.kind !== "send") throw new Error("nothing goes");
    // It ends while its message is being sent.
    const meanwhile = withChanges(withChanges(step.ledger, ended("a", T0 + MIN), PLAN), began("b", T0 + MIN), PLAN);
    expect(send(putBack(meanwhile), T0 + 2 * MIN).told).toBe("a passed, b began");
    // If the outcome is unknown, the same message is sent again.
    const again = nextStep(meanwhile, PLAN, { now: T0 + 2 * MIN, id: "second" });
    expect(again).toMatchObject({ kind: "send", bundle: step.bundle });
  });
});

describe("quiet hours of a notice", () => {
  const NIGHT = [22, 6] as const;
  const NOON = [12, 13] as const;
  it.each([
    [NIGHT, 21 * 60 + 59, null],
    [NIGHT, 22 * 60, 30],
    [NIGHT, 5 * 60 + 59, 6],
    [NIGHT, 6 * 60, null],
    [NOON, 11 * 60, null],
    [NOON, 12 * 60 + 30, 13],
    [NOON, 13 * 60, null],
  ])("set to %j last, at minute %i of the day, until hour %s (null: not quiet)", ([from, to], at, until) => {
    const day = Date.UTC(2026, 2, 2);
    const plan = { ...PLAN, quiet: { from_ms: from * HOUR, to_ms: to * HOUR, tz: "UTC" } };
    expect(quietUntil(plan, day + at * MIN)).toBe(until === null ? null : day + until * HOUR);
  });

  it("follow local time in the configured time zone, even on a day with a clock change", () => {
    // 2026-03-08 02:00 in Denver doesn't exist: 06:00 is 12:00 UTC, and 23:00 the evening before was 06:00 UTC.
    const plan = { ...QUIET, quiet: { from_ms: 22 * HOUR, to_ms: 6 * HOUR, tz: "America/Denver" } };
    expect(quietUntil(plan, Date.UTC(2026, 2, 8, 6))).toBe(Date.UTC(2026, 2, 8, 12));
  });
});

/** A sequence of events and tries, from a seed. */
const step = fc.record({
  kind: fc.constantFrom("began", "ended", "fault", "well", "try", "lost", "refused", "restart"),
  key: fc.constantFrom("a", "b", "c", "d"),
  after: fc.nat({ max: 40 * MIN }),
});

describe("the notice ledger, for random events and failures,", () => {
  it("sends each event once, its end only after its beginning, and within the hourly limit", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        let ledger = emptyLedger();
        let now = T0;
        let events = 0;
        let counted = 0;
        const at: number[] = [];
        const open = new Set<string>();
        for (const { kind, key, after } of steps) {
          now += after;
          const before = ledger.waiting.length + ledger.cut;
          if (kind === "began") ledger = withChanges(ledger, began(key, now), QUIET);
          if (kind === "ended") ledger = withChanges(ledger, ended(key, now), QUIET);
          if (kind === "fault" || kind === "well")
            ledger = look(ledger, fault(kind === "fault" ? "on" : "off", now), QUIET);
          if (kind === "restart") ledger = JSON.parse(JSON.stringify(ledger)) as Ledger;
          events += ledger.waiting.length + ledger.cut - before;
          if (kind !== "try" && kind !== "lost" && kind !== "refused") continue;
          const next = nextStep(ledger, QUIET, { now, id: at.length.toString() });
          if (next.kind === "wait") continue;
          ledger = next.ledger;
          const { bundle } = next;
          if (quietUntil(QUIET, now) !== null) expect(bundle.events.some((one) => one.class === "fault")).toBe(true);
          if (kind === "refused") {
            const merged = bundle.events.length;
            ledger = putBack(ledger);
            // A beginning that was merged with its end is one event.
            events +=
              ledger.waiting.length +
              ledger.cut -
              (next.ledger.waiting.length + next.ledger.cut + merged + bundle.more);
          }
          if (kind !== "try") continue;
          for (const { key: of, state } of bundle.events) {
            if (state === "began") expect(open.has(of)).toBe(false);
            if (state === "ended") expect(open.has(of)).toBe(true);
            if (state === "began") open.add(of);
            if (state === "ended") open.delete(of);
          }
          counted += bundle.events.length + bundle.more;
          at.push(now);
          expect(at.filter((one) => one > now - HOUR).length).toBeLessThanOrEqual(QUIET.max_per_hour);
          ledger = delivered(ledger, { at: now, what: "", answer: "" });
        }
        // No event is lost: all others wait or are being sent.
        const left =
          ledger.waiting.length + ledger.cut + (ledger.sending?.events.length ?? 0) + (ledger.sending?.more ?? 0);
        expect(counted + left).toBe(events);
      }),
    );
  });
});
