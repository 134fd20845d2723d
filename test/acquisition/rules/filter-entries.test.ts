import { describe, expect, it } from "vitest";
import { answered, decideChange, decideUndo, MAX_AGO_MS } from "../../../src/acquisition/rules/filter-entries.ts";
import type { FilterEntry } from "../../../src/domain/entry.ts";
import { withFilters } from "../../support/parameters.ts";

const FITTED = withFilters({ pre_filter: { limits: {} } });
const entry = (more: Partial<FilterEntry> = {}): FilterEntry => ({
  id: "one",
  filter: "pre_filter",
  by: "alex",
  entered_at: 10,
  installed_at: 10,
  outcome: "entered",
  undo_until: 20,
  ...more,
});
const known = (...entries: FilterEntry[]) => ({
  entries: () => entries,
  seqOfEntry: (id: string) => (id === "one" ? 7 : undefined),
});
const change = { id: "one", filter: "pre_filter", ago_ms: 0, by: "" } as const;

describe("a requested filter change", () => {
  it.each([
    [-1, "refused"],
    [0, "write"],
    [MAX_AGO_MS - 1, "write"],
    [MAX_AGO_MS, "write"],
    [MAX_AGO_MS + 1, "refused"],
  ])("made %i ms ago (allowed: 0 to 36 h) is decided as %s", (ago_ms, kind) => {
    expect(decideChange({ ...change, ago_ms }, known(), FITTED).kind).toBe(kind);
  });

  it("returns its outcome if it is already recorded, and is rejected if the booth has no such filter", () => {
    expect(decideChange(change, known(entry()), FITTED)).toEqual({ kind: "done", entry: entry() });
    const reason = "the booth has no exhaust filter";
    expect(decideChange({ ...change, filter: "exhaust_filter" }, known(), FITTED)).toEqual({ kind: "refused", reason });
    expect(decideChange(change, known(), null).kind).toBe("refused");
  });
});

describe("a requested undo", () => {
  it.each<[string, readonly FilterEntry[], string, object]>([
    ["is written for the entry's record if the entry is known", [entry()], "one", { kind: "write", seq: 7 }],
    [
      "needs no record if the entry is already undone",
      [entry({ outcome: "undone" })],
      "one",
      { kind: "done", entry: entry({ outcome: "undone" }) },
    ],
    ["is rejected after its time limit", [entry({ undo_until: null })], "one", { kind: "refused" }],
    ["is rejected if the entry had no effect", [entry({ outcome: "same_change" })], "one", { kind: "refused" }],
    ["is rejected if the entry is unknown", [entry()], "two", { kind: "refused" }],
  ])("is decided by the state of the entry: it %s", (...[, entries, id, expected]) => {
    expect(decideUndo(id, known(...entries))).toMatchObject(expected);
  });
});

it("a filter entry is answered only after the derivation has processed it", () => {
  expect(answered("one", known(), { undone: false })).toBeNull();
  expect(answered("one", known(entry()), { undone: false })).toMatchObject({ kind: "done" });
  expect(answered("one", known(entry()), { undone: true })).toBeNull();
  expect(answered("one", known(entry({ outcome: "undone" })), { undone: true })).toMatchObject({ kind: "done" });
});
