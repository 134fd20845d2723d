import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  allOf,
  booked,
  bookingDay,
  dayNamed,
  EMPTY_ACCOUNT,
  EMPTY_PERIOD,
  isOwnNetwork,
  monthOf,
  NO_TRAFFIC,
  type Period,
  thriftFor,
  type TrafficAccount,
  trafficStatus,
} from "../../src/domain/traffic.ts";
import { DAY_MS } from "../../src/domain/time.ts";

const START = Date.UTC(2026, 10, 25);

function sent(bytes: number): Period {
  return { traffic: { ...NO_TRAFFIC, readings: { up: bytes, down: 1 } }, metered: bytes + 1, cuts: 0 };
}

function total(periods: TrafficAccount["days"]): number {
  return Object.values(periods).reduce((sum, { metered }) => sum + metered, 0);
}

describe("the traffic account", () => {
  it("counts each byte once despite clock changes, and each month equals the sum of its days", () => {
    const looks = fc.array(
      fc.record({ at: fc.integer({ min: 0, max: 39 * DAY_MS }), synced: fc.boolean(), bytes: fc.nat(1_000_000) }),
    );
    fc.assert(
      fc.property(looks, (all) => {
        const account = all.reduce<TrafficAccount>(
          (before, { at, synced, bytes }) => booked(before, bookingDay(before, START + at, synced), sent(bytes)),
          EMPTY_ACCOUNT,
        );
        const counted = all.reduce((sum, { bytes }) => sum + bytes + 1, 0);
        expect(total(account.days)).toBe(counted);
        expect(total(account.months)).toBe(counted);
        for (const [month, { metered, traffic }] of Object.entries(account.months)) {
          const days = Object.entries(account.days).filter(([day]) => monthOf(day) === month);
          expect(total(Object.fromEntries(days))).toBe(metered);
          const both = allOf(traffic);
          expect(both.up + both.down).toBe(metered);
        }
      }),
    );
  });

  it("assigns traffic to the last known day while the clock is unconfirmed", () => {
    const account = booked(EMPTY_ACCOUNT, "2026-11-25", sent(10));
    expect(bookingDay(account, Date.UTC(2036, 0, 1), false)).toBe("2026-11-25");
    expect(bookingDay(account, 0, false)).toBe("2026-11-25");
    expect(bookingDay(account, Date.UTC(2026, 11, 1), true)).toBe("2026-12-01");
    expect(bookingDay(EMPTY_ACCOUNT, 0, false)).toBe("1970-01-01");
  });

  it("keeps the 40 days and 13 months nearest to the latest entry, even after years with a wrong clock", () => {
    let account: TrafficAccount = EMPTY_ACCOUNT;
    for (let day = 0; day < 40; day += 1) account = booked(account, dayNamed(Date.UTC(2036, 0, 1 + day)), sent(1));
    for (let day = 0; day < 500; day += 1) account = booked(account, dayNamed(START + day * DAY_MS), sent(1));
    const days = Object.keys(account.days);
    expect(days).toHaveLength(40);
    expect(days.at(-1)).toBe(dayNamed(START + 499 * DAY_MS));
    expect(Object.keys(account.months)).toHaveLength(13);
    expect(Object.keys(account.months).at(-1)).toBe("2028-04");
  });
});

describe("data saving", () => {
  it.each([
    [0, "none", 0, 0, false],
    [69_999_999, "none", 0, 0, false],
    [70_000_000, "heartbeats", 110_000, 0, false],
    [80_000_000, "batches", 110_000, 600_000, false],
    [90_000_000, "backlog", 110_000, 600_000, true],
    [100_000_000, "mode_changes", 110_000, 21_600_000, true],
    [900_000_000, "mode_changes", 110_000, 21_600_000, true],
  ])("at %i bytes of 100 MB in the month uses the step %s", (...[bytes, step, heartbeat_ms, hold_ms, by_night]) => {
    expect(thriftFor(bytes, 100e6)).toEqual({ step, heartbeat_ms, hold_ms, by_night });
    const month = { ...EMPTY_PERIOD, metered: bytes };
    const account = { days: {}, months: { "2026-11": month } };
    const told = trafficStatus(account, { day: "2026-11-25", budget_bytes: 100e6, since_start: NO_TRAFFIC });
    expect(told.step).toBe(step);
    expect(told.reason === "").toBe(step === "none");
    const next = trafficStatus(account, { day: "2026-12-01", budget_bytes: 100e6, since_start: NO_TRAFFIC });
    expect(next).toMatchObject({ step: "none", reason: "", month: EMPTY_PERIOD });
  });

  it("is off without a budget", () => {
    expect(thriftFor(1e12, null).step).toBe("none");
  });
});

it.each([
  ["127.0.0.1", true],
  ["10.1.2.3", true],
  ["172.16.0.1", true],
  ["172.32.0.1", false],
  ["192.168.1.1", true],
  ["192.0.2.1", false],
  ["::ffff:192.168.1.1", true],
  ["::ffff:8.8.8.8", false],
  ["::1", true],
  ["fd00::1", true],
  ["fe80::1", true],
  ["2001:db8::1", false],
  [undefined, false],
])("isOwnNetwork returns, for the address %s, the result %s", (address, expected) => {
  expect(isOwnNetwork(address)).toBe(expected);
});
