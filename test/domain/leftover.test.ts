import { expect, it } from "vitest";
import { endOf } from "../../src/derivation/clock.ts";
import { emptyState } from "../../src/derivation/state.ts";
import { type Committed, type TakenEntry, uncommitted } from "../../src/domain/taken.ts";

const poll = (take: number, mono: number, boot = "b"): TakenEntry => {
  const place = { boot, mono, at: mono };
  return { kind: "poll", take, stream: "s", ...place, group: "fast", answered: true, changes: [] };
};
const event = (take: number, mono: number): TakenEntry => {
  const value = { event: "link", detail: "" };
  return {
    kind: "record",
    take,
    stream: "s",
    record: { kind: "e", boot: "b", mono, at: mono, tag: "", quality: "good", value },
  };
};
const TAIL = [poll(8, 800), event(9, 850), poll(10, 900), { ...poll(11, 950), stream: "other" }, poll(12, 100, "next")];
const END = { boot: "b", mono: 850 };

it.each<[string, Partial<Committed>, readonly number[]]>([
  ["uses the last committed take number", { last_take: 9, end: null }, [10, 12]],
  ["uses the last committed take number even if the log's end is known", { last_take: 8, end: END }, [9, 10, 12]],
  ["uses the end of the log if no take number is known", { last_take: 0, end: END }, [10, 12]],
  [
    "returns all entries if no take number is known and the log ends in another boot",
    { last_take: 0, end: { boot: "a", mono: 5_000 } },
    [8, 9, 10, 12],
  ],
  ["returns all entries if no take number and no log exist", { last_take: 0, end: null }, [8, 9, 10, 12]],
])("uncommitted (returns the entries of the tail file that the log lacks) %s", (_name, committed, takes) => {
  const found = uncommitted(TAIL, { stream: "s", last_take: 0, end: null, ...committed });
  expect(found.map(({ take }) => take)).toEqual(takes);
});

it("endOf returns the time of the log's last record, or of a later poll that coverage of the same boot proves", () => {
  const state = emptyState();
  expect(endOf(state)).toBeNull();
  Object.assign(state.clock, { boot: "b", mono: 700 });
  const group = { from: 0, known_until: null };
  Object.assign(state.groups, { fast: { ...group, boot: "a", to: 9_000 }, slow: { ...group, boot: "b", to: 650 } });
  expect(endOf(state)).toEqual({ boot: "b", mono: 700 });
  Object.assign(state.groups, { slow: { ...group, boot: "b", to: 850 } });
  expect(endOf(state)).toEqual({ boot: "b", mono: 850 });
});
