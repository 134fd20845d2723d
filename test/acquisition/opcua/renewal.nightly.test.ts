import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";

import { ANSWER_MS, never, readGroup } from "../driver-calls.ts";
import { opcuaBed } from "./opcua-bed.ts";

const PATIENCE_MS = 60_000;
const SPACING_MS = 20;
/**
 * Keys are renewed at three quarters of their lifetime and valid for a quarter longer. A publish may wait for its
 * answer for a keep-alive interval of 1.5 s. If its key were invalid by then, this server would sign the answer with
 * the next key under the old key's id.
 */
const KEYS_MS = [
  ["read", 2_000],
  ["subscribe", 6_000],
] as const;
const bed = opcuaBed();

/** Counts requests for new keys in the client's data. The first one opened the channel. */
function renewals(before: number): number {
  const sent = bed().gate.sent().toString("latin1", before);
  return sent.split("OPNF").length - 1;
}

for (const [mode, keys_ms] of KEYS_MS) {
  test(`an OPC UA channel in use (mode ${mode}) renews its keys without interrupting the values`, async () => {
    const { make, address, gate } = bed();
    const timeouts = { connect_ms: ANSWER_MS, answer_ms: ANSWER_MS, keys_ms };
    const driver = make({ address: address({ mode }), timeouts });
    await driver.open(never);
    const before = gate.sent().length;
    const right = (await readGroup(driver, "fast")).map(({ value }) => value);
    const deadline = performance.now() + PATIENCE_MS;
    while (renewals(before) < 3 && performance.now() < deadline) {
      expect((await readGroup(driver, "fast")).map(({ value }) => value)).toEqual(right);
      await sleep(SPACING_MS);
    }
    expect(renewals(before)).toBeGreaterThanOrEqual(3);
    expect((await readGroup(driver, "fast")).every(({ quality }) => quality === "good")).toBe(true);
  });
}
