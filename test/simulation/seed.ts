import { judge, type Broken } from "./judge.ts";
import { play, type RunOptions, type Sent } from "./run.ts";
import type { Story } from "./story.ts";

/** The law that whatever nobody foresaw breaks. */
export const ENDS = "a story comes to its end";

/** What came of a story. */
export interface Verdict {
  readonly broken: readonly Broken[];
  readonly hash: string;
  /** Faults that struck. */
  readonly faults: number;
  readonly sent: Sent;
}

export const NOTHING: Sent = { chunks: 0, batches: 0, refused_chunks: 0, old_stores: 0 };

/** Plays a story and holds it against the laws. What nobody foresaw is a broken law too. */
export async function verdictOf(story: Story, options: RunOptions = {}): Promise<Verdict> {
  const faults = story.faults.length;
  try {
    const played = await play(story, options);
    try {
      return { broken: judge(played), hash: played.hash, faults, sent: played.sent };
    } finally {
      played.close();
    }
  } catch (error) {
    const places = [error instanceof Error ? (error.stack ?? error.message) : String(error)];
    return { broken: [{ law: ENDS, places }], hash: "", faults, sent: NOTHING };
  }
}
