import { expect, test } from "vitest";
import { emptyRow, type ProvisioningRow, WIPE_AFTER_MS, type WipeGrounds } from "../../src/domain/provisioning.ts";
import { wipedOf } from "../../src/runtime/decommission.ts";

/** A booth with 70 records when it was given up. */
function booth(row: Partial<ProvisioningRow>, acked_seq = 70): Parameters<typeof wipedOf>[0][number] {
  const binding = { row: { ...emptyRow(0), ...row }, drift: "", lookAgain: () => undefined };
  return { booth: "booth-1", binding, log: { reach: { acked_seq } } };
}

const gone = (wipe: Partial<WipeGrounds>): Partial<ProvisioningRow> => ({
  state: "decommissioned",
  wipe: { by: "root", for_ms: 0, last_seq: 70, ...wipe },
});
const byRoot = gone({});

test.each([
  ["without a booth", [], null],
  ["whose booths root took out of service", [booth(byRoot), booth(byRoot)], "all"],
  ["with a booth that is still bound", [booth(byRoot), booth({ state: "active" })], null],
  ["with a booth that was released", [booth({ state: "released" })], null],
  ["decommissioned by an order that wasn't root's", [booth({ state: "decommissioned" })], null],
  ["whose record said so once", [booth(gone({ by: "record" }))], null],
  ["whose record has said so for almost 24 hours", [booth(gone({ by: "record", for_ms: WIPE_AFTER_MS - 1 }))], null],
  ["whose record has said so for 24 hours", [booth(gone({ by: "record", for_ms: WIPE_AFTER_MS }))], "all"],
  ["with a record that the service hasn't acknowledged", [booth(byRoot), booth(byRoot, 69)], "keys"],
])("a gateway %s", (_what, booths, expected) => {
  expect(wipedOf(booths)).toBe(expected);
});
