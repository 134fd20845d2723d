import { expect, test } from "vitest";
import { mutatedFrames } from "./mutated-frames.ts";

const FRAMES = 1_000_000;

test.each(["tcp", "rtu"] as const)(
  "decoding a million mutated %s frames causes no crash and no wrong value",
  { timeout: 1_800_000 },
  (framing) => {
    const counts = mutatedFrames(framing, FRAMES, 1);
    process.stdout.write(`${framing}: ${JSON.stringify(counts)}\n`);
    expect(counts).toMatchObject({ frames: FRAMES, wrong: 0 });
    expect(counts.malformed).toBeGreaterThan(FRAMES / 4);
    expect(counts.unchanged).toBeGreaterThan(0);
  },
);
