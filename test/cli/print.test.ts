import { expect, it } from "vitest";
import { forPrograms } from "../../src/tools/print.ts";

const AT = Date.UTC(2026, 2, 2, 15, 5, 12, 250);
const ISO = "2026-03-02T15:05:12.250Z";

it("--json writes every instant in ISO 8601, and leaves other numbers unchanged", () => {
  expect(
    forPrograms({
      at: AT,
      booths: [{ since: AT, log: { last_commit_at: AT, used_bytes: AT, newest_seq: 7 }, undo_until: null }],
      entered_at: { active: AT },
      waiting_at: 1_500,
      start: ISO,
      hours_to_full: 12.5,
    }),
  ).toEqual({
    at: ISO,
    booths: [{ since: ISO, log: { last_commit_at: ISO, used_bytes: AT, newest_seq: 7 }, undo_until: null }],
    entered_at: { active: ISO },
    waiting_at: 1_500,
    start: ISO,
    hours_to_full: 12.5,
  });
});
