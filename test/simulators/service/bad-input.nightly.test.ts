import { expect, it } from "vitest";
import { badInput } from "./bad-input.ts";
import { seedOf } from "../../support/seed.ts";

const REQUESTS = 100_000;

it(`takes ${REQUESTS} bad requests without a 5xx and without a leak`, async () => {
  const { faults, by_status } = await badInput({ seed: seedOf("bad-input.nightly"), requests: REQUESTS });
  process.stdout.write(`bad input: ${JSON.stringify(by_status)}\n`);
  expect(faults).toEqual([]);
});
