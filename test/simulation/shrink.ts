import type { Story } from "./story.ts";
import { HOUR_MS } from "../../src/domain/time.ts";

/** Maximum number of replays. A story that is still long after these is short enough to read. */
const MOST_REPLAYS = 40;

/** Returns a shorter story that is still broken. First removes halves of the faults, then single faults, then hours. */
export async function shrunk(story: Story, isBroken: (story: Story) => Promise<boolean>): Promise<Story> {
  let best = story;
  let replays = 0;
  const attempt = async (shorter: Story): Promise<boolean> => {
    if (replays >= MOST_REPLAYS) return false;
    replays += 1;
    if (!(await isBroken(shorter))) return false;
    best = shorter;
    return true;
  };
  for (let size = Math.ceil(best.faults.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let from = 0; from < best.faults.length;) {
      const faults = best.faults.filter((_, index) => index < from || index >= from + size);
      if (!(await attempt({ ...best, faults }))) from += size;
    }
  }
  const last = Math.max(best.serial_at_ms ?? 0, ...best.faults.map(({ at_ms }) => at_ms));
  for (const hours of [Math.ceil(last / HOUR_MS) + 1, Math.ceil(last / HOUR_MS) + 4])
    if (hours < best.hours && (await attempt({ ...best, hours }))) break;
  return best;
}
