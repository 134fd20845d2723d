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
  ["without a booth is not wiped", [], null],
  ["whose booths root took out of service is wiped completely", [booth(byRoot), booth(byRoot)], "all"],
  ["with a booth that is still bound is not wiped", [booth(byRoot), booth({ state: "active" })], null],
  ["with a booth that was released is not wiped", [booth({ state: "released" })], null],
  ["decommissioned by a command that wasn't root's is not wiped", [booth({ state: "decommissioned" })], null],
  ["whose service record was decommissioned just now is not wiped", [booth(gone({ by: "record" }))], null],
  [
    "whose service record has been decommissioned for almost 24 hours is not wiped",
    [booth(gone({ by: "record", for_ms: WIPE_AFTER_MS - 1 }))],
    null,
  ],
  [
    "whose service record has been decommissioned for 24 hours is wiped completely",
    [booth(gone({ by: "record", for_ms: WIPE_AFTER_MS }))],
    "all",
  ],
  [
    "with a log record that the service hasn't acknowledged loses its keys only",
    [booth(byRoot), booth(byRoot, 69)],
    "keys",
  ],
])("the wipe of a gateway depends on its booths: a gateway %s", (_what, booths, expected) => {
  expect(wipedOf(booths)).toBe(expected);
});
