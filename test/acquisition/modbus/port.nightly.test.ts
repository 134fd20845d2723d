import fc from "fast-check";
import { expect, test } from "vitest";

import { mutatedFrames } from "../../support/mutated-frames.ts";
import { mutatedAnswers } from "../../support/mutated-modbus.ts";
import { spoiltSockets } from "../../support/mutated-sockets.ts";

const FRAMES = 1_000_000;
const SOCKETS = 10_000;

test.each(["tcp", "rtu"] as const)(
  "a million mutated %s frames through framing and decoding: no crash, no wrong value",
  { timeout: 1_800_000 },
  (framing) => {
    const counts = mutatedFrames(framing, FRAMES, 1);
    process.stdout.write(`${framing}: ${JSON.stringify(counts)}\n`);
    expect(counts).toMatchObject({ frames: FRAMES, wrong: 0 });
    expect(counts.malformed).toBeGreaterThan(FRAMES / 4);
    expect(counts.unchanged).toBeGreaterThan(0);
  },
);

test("a million mutated answers through whole sessions: no crash, no wrong value", { timeout: 1_800_000 }, async () => {
  await fc.assert(mutatedAnswers(), { numRuns: FRAMES });
});

test("10,000 mutated answers over real sockets: no crash, no wrong value", { timeout: 1_800_000 }, async () => {
  const sockets = await spoiltSockets();
  try {
    await fc.assert(mutatedAnswers(sockets.read), { numRuns: SOCKETS });
  } finally {
    await sockets.stop();
  }
});
