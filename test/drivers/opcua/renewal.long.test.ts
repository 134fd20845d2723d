import { expect, test } from "vitest";

import { ANSWER_MS, never } from "../../support/modbus-bed.ts";
import { opcuaBed } from "../../support/opcua-bed.ts";

const PATIENCE_MS = 30_000;
const bed = opcuaBed();

/** Requests for new keys among what the client has sent: the first one opened the channel. */
function renewals(before: number): number {
  const sent = bed().gate.sent().toString("latin1", before);
  return sent.split("OPNF").length - 1;
}

for (const mode of ["read", "subscribe"] as const) {
  test(`the channel's keys are renewed while it is in use (${mode}), and values go on coming`, async () => {
    const { make, address, gate } = bed();
    const timeouts = { connect_ms: ANSWER_MS, answer_ms: ANSWER_MS, keys_ms: 2000 };
    const driver = make({ address: address({ mode }), timeouts });
    await driver.open(never);
    const before = gate.sent().length;
    const right = (await driver.read("fast", never)).map(({ value }) => value);
    const deadline = performance.now() + PATIENCE_MS;
    while (renewals(before) < 3 && performance.now() < deadline) {
      expect((await driver.read("fast", never)).map(({ value }) => value)).toEqual(right);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(renewals(before)).toBeGreaterThanOrEqual(3);
    expect((await driver.read("fast", never)).every(({ quality }) => quality === "good")).toBe(true);
  });
}
