import { expect, it } from "vitest";
import { createFilterLabels, labelledEntries } from "../../src/api/filter-labels.ts";
import type { FilterEntry, FilterLabel } from "../../src/domain/entry.ts";

/** Keeps values as the identity does: a read returns another object. */
function memory() {
  const all = new Map<string, string>();
  return {
    kept: (name: string) => Promise.resolve(JSON.parse(all.get(name) ?? "null") as unknown),
    keep: (name: string, what: unknown) => Promise.resolve(void all.set(name, JSON.stringify(what))),
  };
}

function label(id: string, more: Partial<FilterLabel> = {}): FilterLabel {
  return { id, filter: "pre_filter", installed_at: 1_000, by: "Dana", part_number: "PF-20", note: "", ...more };
}

function entry(id: string, outcome: FilterEntry["outcome"]): FilterEntry {
  return { id, filter: "pre_filter", by: "Dana", entered_at: 2_000, installed_at: 1_500, outcome, undo_until: null };
}

it("filter labels of a booth are stored even if saved concurrently, and a new label replaces the entry's earlier label", async () => {
  const labels = createFilterLabels(memory());
  await Promise.all([labels.keep("a", label("one")), labels.keep("a", label("two")), labels.keep("b", label("three"))]);
  await labels.keep("a", label("one", { note: "bent" }));
  expect((await labels.of("a")).map(({ id, note }) => [id, note])).toEqual([
    ["two", ""],
    ["one", "bent"],
  ]);
  expect(await labels.of("b")).toHaveLength(1);
});

it("only the newest 260 filter labels of a booth are kept", async () => {
  const labels = createFilterLabels(memory());
  for (let nth = 0; nth < 270; nth += 1) await labels.keep("a", label(`entry-${nth}`));
  const kept = await labels.of("a");
  expect([kept.length, kept[0]?.id]).toEqual([260, "entry-10"]);
});

it("filter labels are not listed for an undone entry, but are still listed for an entry that the log no longer contains", () => {
  const now = {
    filter_entries: [entry("gone", "undone"), entry("none", "not_fitted"), entry("in", "entered")],
  } as never;
  const told = labelledEntries({ now }, [label("old"), label("gone"), label("in", { note: "G4" })]);
  expect(told.map(({ id, installed_at, note }) => [id, installed_at, note])).toEqual([
    ["old", 1_000, ""],
    ["in", 1_500, "G4"],
  ]);
});
