import { describe, expect, it } from "vitest";
import { entryText, lastEntry } from "../../src/cli/filters.ts";
import type { FilterEntry } from "../../src/domain/entry.ts";
import type { BoothStatus } from "../../src/domain/status.ts";
import { say } from "./say.ts";

const AT = Date.UTC(2026, 2, 2, 15);
const entry = (id: string, more: Partial<FilterEntry> = {}): FilterEntry => ({
  id,
  filter: "exhaust_filter",
  by: "alex",
  entered_at: AT,
  installed_at: AT,
  outcome: "entered",
  undo_until: AT + 86_400_000,
  ...more,
});
const boothWith = (filter_entries: readonly FilterEntry[] | null): Pick<BoothStatus, "now"> => ({
  now: filter_entries === null ? null : ({ filter_entries } as unknown as NonNullable<BoothStatus["now"]>),
});

describe("booth-gateway filters changed", () => {
  it("fails without the name of a filter, and lists the names", async () => {
    expect((await say(["filters", "changed"])).err).toContain(
      "name the filter that was changed: intake, pre or exhaust",
    );
  });

  it("--undo withdraws the filter's newest entry that can still be withdrawn", () => {
    const entries = [
      entry("old"),
      entry("newer"),
      entry("undone", { outcome: "undone", undo_until: null }),
      entry("same", { outcome: "same_change" }),
      entry("other", { filter: "pre_filter" }),
    ];
    expect(lastEntry(boothWith(entries), "exhaust_filter").id).toBe("newer");
    expect(lastEntry(boothWith(entries), "pre_filter").id).toBe("other");
  });

  it.each([[null], [[]], [[entry("late", { undo_until: null })]], [[entry("other", { filter: "pre_filter" })]]])(
    "--undo fails if the filter has no entry that can be withdrawn: %j",
    (entries) => {
      expect(() => lastEntry(boothWith(entries), "exhaust_filter")).toThrow(
        "no change of the exhaust filter can be taken back",
      );
    },
  );

  it.each([
    [
      entry("a"),
      "exhaust filter, 2026-03-02 15:00:00 UTC: a new one is in; --undo takes it back until 2026-03-03 15:00:00 UTC\n",
    ],
    [
      entry("a", { outcome: "undone", undo_until: null }),
      "exhaust filter, 2026-03-02 15:00:00 UTC: taken back: the one before is in\n",
    ],
    [
      entry("a", { outcome: "older" }),
      "exhaust filter, 2026-03-02 15:00:00 UTC: the one that is in went in after that, so nothing was changed\n",
    ],
    [{ reason: "taken; later" }, "taken; later; it will be, and nothing needs to be done\n"],
  ])("prints the answer %j as a sentence about the filter", (answer, text) => {
    expect(entryText(answer, "UTC")).toBe(text);
  });
});
