import { expect, it } from "vitest";
import { forkTrouble } from "../../src/delivery/service-words.ts";
import { heldSeqs } from "../../src/delivery/rules/belief.ts";
import { T0 } from "../support/records.ts";
import { DAY_MS } from "../../src/domain/time.ts";

const SETTLED = { waiting: null, doubt: null };
const label = { id: "b", from_seq: 50, predecessor: { stream_id: "a", last_seq: 49 } };

it("a log's new name at the service is told for a month, and that one waits, with what to do", () => {
  const forked = { ...label, forked_at: T0 };
  expect(forkTrouble(label, SETTLED, T0)).toBe(null);
  // Stored before the seqs were: from there on, at least.
  expect(forkTrouble(forked, SETTLED, T0)?.reason).toMatch(/from seq 50 on: since \d{4}-\d\d-\d\d \d\d:\d\d UTC/);
  expect(forkTrouble(forked, SETTLED, T0 + 31 * DAY_MS)).toBe(null);
  const waiting = forkTrouble(forked, { waiting: { seqs: { from: 60, to: 80 }, until: T0 + DAY_MS }, doubt: null }, T0);
  expect(waiting?.reason).toMatch(/other records, under seq 60 to 80: a second new name within a day waits/);
  expect(waiting?.advice).toMatch(/ask whoever runs the service/);
});

it("a conflict that nothing proves is told while it is asked for again", () => {
  const told = forkTrouble(label, { waiting: null, doubt: { seq: 70, since: 0 } }, T0);
  expect(told?.reason).toContain("another record under seq 70, and doesn't prove it: readings wait until");
});

it.each([
  [264, "under seq 50 to 264: since"],
  [50, "under seq 50: since"],
  [49, "from seq 50 on: since"],
  [0, "from seq 50 on: since"],
])("which records the service holds otherwise is told, with its newest at %i: %s", (held_seq, words) => {
  const forked = { ...label, forked_at: T0, forked_seqs: heldSeqs({ seq: 50, held_seq }) };
  expect(forkTrouble(forked, SETTLED, T0)?.reason).toContain(`the service held other records than this box ${words}`);
  // A later name of another cause doesn't change which those were.
  expect(forkTrouble({ ...forked, from_seq: 900 }, SETTLED, T0)?.reason).toContain(words);
});
