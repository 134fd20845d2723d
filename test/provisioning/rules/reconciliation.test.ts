import { expect, it } from "vitest";
import { dayBefore, differencesOf, figuresIn, localDay } from "../../../src/provisioning/rules/reconciliation.ts";
import { daysFromCivil } from "../../../src/domain/time-zone.ts";

const figures = (body: unknown): ReadonlyMap<string, number | string> => figuresIn("runtime", body);

it("figuresIn names list items independently of their order, and omits ids and time windows", () => {
  const answer = {
    booth_id: "b",
    start: 1,
    total: 2,
    modes: [
      { mode: "spray", minutes: 3 },
      { mode: "bake", minutes: 4, note: null, partial: true },
    ],
    list: [7, null, { minutes: 8 }],
  };
  expect(Object.fromEntries(figures(answer))).toEqual({
    "runtime.modes.spray.mode": "spray",
    "runtime.modes.spray.minutes": 3,
    "runtime.modes.bake.mode": "bake",
    "runtime.modes.bake.minutes": 4,
    "runtime.list.0": 7,
    "runtime.list.2.minutes": 8,
  });
});

it("differencesOf also compares the use in a filter's maintenance record", () => {
  const record = { filter_type: "pre_filter", maintenance_date: "2026-03-02" };
  const [ours, theirs] = [90, 91].map((minutes) => figures([{ ...record, booth_in_use_time: minutes }]));
  expect(differencesOf(ours ?? new Map(), theirs ?? new Map())).toEqual([
    { figure: "runtime.pre_filter 2026-03-02.booth_in_use_time", gateway: 90, service: 91 },
  ]);
});

it("figuresIn names a list item by both of its identifying fields", () => {
  const item = { filter_type: "pre_filter", maintenance_date: "2026-03-02", cycles: 5 };
  expect(figures([item]).get("runtime.pre_filter 2026-03-02.cycles")).toBe(5);
});

it("figuresIn and differencesOf shorten the service's names and texts to 200 characters at every level", () => {
  const long = "x".repeat(1_000);
  const found = differencesOf(figures({}), figures({ [long]: { [long]: long } }));
  expect(found).toEqual([{ figure: `runtime.${long}`.slice(0, 200), gateway: null, service: long.slice(0, 200) }]);
});

it.each([
  ["finds no difference between equal values", { minutes: 5 }, { minutes: 5 }, []],
  ["ignores rounding noise", { minutes: 0 }, { minutes: 1e-6 }, []],
  ["finds a difference of a tenth of a millisecond", { minutes: 0 }, { minutes: 2e-6 }, ["runtime.minutes"]],
  ["finds no difference between zero and an unlisted figure", { minutes: 0 }, {}, []],
  ["finds a figure that the gateway does not list", {}, { minutes: 1 }, ["runtime.minutes"]],
  ["finds a figure that the service does not list", { minutes: 1 }, {}, ["runtime.minutes"]],
  ["finds a difference between texts", { state: "late" }, { state: "on_time" }, ["runtime.state"]],
  ["finds a difference between a text and a number", { state: "5" }, { state: 5 }, ["runtime.state"]],
  ["ignores a mode without time that only one side lists", [{ mode: "idle", minutes: 0 }], [], []],
])("differencesOf %s", (...[, gateway, service, expected]) => {
  const found = differencesOf(figures(gateway), figures(service));
  expect(found.map(({ figure }) => figure)).toEqual(expected);
});

it.each([
  ["2026-01-01", 24],
  ["2026-02-28", 24],
  ["2026-03-08", 23],
  ["2026-11-01", 25],
  ["2026-12-31", 24],
  ["2028-02-29", 24],
  ["1999-12-31", 24],
])("the local day %s in Denver has %i hours", (day, hours) => {
  const [year = 0, month = 0, date = 0] = day.split("-").map(Number);
  const local = localDay("America/Denver", daysFromCivil(year, month, date));
  expect([local.day, (local.end - local.start) / 3_600_000]).toEqual([day, hours]);
});

it("dayBefore returns the previous day in the local time zone", () => {
  expect(dayBefore("America/Denver", Date.UTC(2026, 0, 2, 6)).day).toBe("2025-12-31");
  expect(dayBefore("America/Denver", Date.UTC(2026, 0, 2, 7)).day).toBe("2026-01-01");
});
