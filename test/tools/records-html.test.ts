import { describe, expect, it } from "vitest";
import type { BakesBody, RecordHead, SheetBody } from "../../src/contract/records.ts";
import { recordDigest } from "../../src/contract/records.ts";
import { sheetCsv } from "../../src/tools/records/csv.ts";
import { bakesHtml, sheetHtml, withPersons } from "../../src/tools/records/html.ts";
import { languageOf } from "../../src/tools/records/texts.ts";

const HEAD: RecordHead = {
  document: "log_sheet",
  booth: "booth-1",
  serial: "ABCD-123",
  customer: "Body & Paint <Ltd>",
  facility: "Denver",
  tz: "America/Denver",
  from: "2026-03-01",
  to: "2026-03-31",
  version: "1.2.3",
};
const FILTER = {
  filter: "exhaust_filter",
  installed_at: "2026-02-01 10:00:00Z",
  removed_at: null,
  assumed: false,
  use_hours: 61.4,
  limit_hours: 100,
  overuse_since: "2026-03-05 10:00:00Z",
  sensor: true,
  highest_pa: 190,
  median_pa: 178,
  baseline_pa: 50,
  limit_pa: 175,
} as const;
const SHEET: SheetBody = {
  head: HEAD,
  digest: "1111-2222-3333-4444",
  filters: ["exhaust_filter"],
  days: [{ day: "2026-03-05", use_minutes: 395, spray_minutes: 170, no_data_minutes: 0, filters: [FILTER] }],
  changes: [
    {
      filter: "exhaust_filter",
      at: "2026-03-06 00:50:00Z",
      source: "technician",
      id: "entry-1",
      part_number: "PF-10",
      note: "=1+1",
      corrected: [{ part_number: "PF-l0", note: "" }],
      removed_use_hours: 62,
      removed_overuse_days: 0.6,
    },
  ],
};

describe("the printed log sheet", () => {
  it.each([
    ["en", "Filter log sheet", "overdue"],
    ["es", "Bitácora de filtros", "vencido"],
    ["de", "Filterprotokoll", "überfällig"],
    ["fr", "Filter log sheet", "overdue"],
  ])("is in the language %s, with head, figures, digest and signature line", (lang, title, overdue) => {
    const html = sheetHtml(SHEET, languageOf(lang));
    const parts = [
      title,
      overdue,
      "Body &amp; Paint &lt;Ltd&gt;",
      "1111-2222-3333-4444",
      "190.0 (178.0) / 175.0 Pa",
      'class="sign"',
    ];
    for (const text of parts) expect(html).toContain(text);
    // The change is shown in local time, with the text before its correction.
    expect(html).toContain("2026-03-05 17:50");
    expect(html).toContain("PF-l0");
  });

  it("shows hours and says so if the filter has no sensor", () => {
    const day = { ...SHEET.days[0], filters: [{ ...FILTER, sensor: false, highest_pa: null }] };
    const html = sheetHtml(
      { ...SHEET, days: [{ ...day, day: "2026-03-05", use_minutes: 1, spray_minutes: 1, no_data_minutes: 0 }] },
      languageOf("en"),
    );
    expect(html).toContain("61.4 / 100.0 h");
    expect(html).toContain("no sensor");
  });

  it("shows a person's name only as long as the gateway has it", () => {
    const html = sheetHtml(SHEET, languageOf("en"));
    expect(withPersons(html, new Map([["entry-1", "Ana <b>"]]))).toContain("; by Ana &lt;b&gt;");
    const erased = withPersons(html, new Map());
    expect(erased).not.toContain("data-person");
    expect(erased).not.toContain("Ana");
  });

  it("is a CSV file in which a spreadsheet sees no formula", () => {
    expect([...sheetCsv(SHEET)].join("")).toContain("PF-10,'=1+1");
  });
});

it("the printed bake record says that it has no temperature sensor", () => {
  const bake = {
    bay: 0,
    start: "2026-03-05 17:00:00Z",
    end: "2026-03-05 17:40:00Z",
    bake_minutes: 30,
    no_data_minutes: 0,
  };
  const body: BakesBody = {
    head: { ...HEAD, document: "bake_records" },
    digest: "1",
    bakes: [{ ...bake, end_reason: "run", air: null, metal: null, rules: [] }],
  };
  expect(bakesHtml(body, languageOf("en"))).toContain("No temperature sensor: only the time in mode bake is known.");
});

it("the digest of a record depends on its figures and period, not on version, booth name or customer", () => {
  const digest = recordDigest(HEAD, { days: [1] });
  expect(digest).toMatch(/^[0-9a-f]{4}(-[0-9a-f]{4}){3}$/);
  expect(recordDigest({ ...HEAD, version: "2", customer: null }, { days: [1] })).toBe(digest);
  expect(recordDigest({ ...HEAD, to: "2026-03-30" }, { days: [1] })).not.toBe(digest);
  expect(recordDigest(HEAD, { days: [2] })).not.toBe(digest);
});
