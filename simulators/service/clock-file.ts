import { readFileSync } from "node:fs";
import { z } from "zod";

/** Real time between two looks at the file. */
const LOOK_MS = 200;

const shape = z.object({ epoch_ms: z.number(), real_ms: z.number(), speed: z.number().positive() });

/**
 * A clock that a file rules: JSON `{epoch_ms, real_ms, speed}`, saying that at the machine's time real_ms it was epoch_ms
 * and that it runs `speed` times as fast since. A file that can't be read leaves the last rule in force.
 */
export function clockOfFile(file: string): { wall(): number } {
  let rule = shape.parse(JSON.parse(readFileSync(file, "utf8")));
  let looked = Date.now();
  return {
    wall: () => {
      const real = Date.now();
      if (Math.abs(real - looked) >= LOOK_MS) {
        looked = real;
        rule = readRule(file) ?? rule;
      }
      return Math.round(rule.epoch_ms + (real - rule.real_ms) * rule.speed);
    },
  };
}

function readRule(file: string): z.infer<typeof shape> | undefined {
  try {
    return shape.parse(JSON.parse(readFileSync(file, "utf8")));
  } catch {
    // Half written or gone for a moment: the next look will tell.
    return undefined;
  }
}
