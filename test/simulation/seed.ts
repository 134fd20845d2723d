import { KIND } from "../../src/domain/record.ts";
import { countsOf, noFieldState } from "./field/state.ts";
import { judge, type Broken } from "./judge.ts";
import { play, type Played, type RunOptions, type Sent } from "./run.ts";
import { heldRecords } from "./records.ts";
import type { Story } from "./story.ts";

/** The law that every unexpected error breaks. */
export const ENDS = "a story comes to its end";

/** The result of a story. */
export interface Verdict {
  readonly broken: readonly Broken[];
  readonly hash: string;
  /** Number of faults that occurred. */
  readonly faults: number;
  readonly sent: Sent;
}

const NO_FIELD = countsOf(noFieldState());

export const NOTHING: Sent = {
  chunks: 0,
  batches: 0,
  refused_chunks: 0,
  outputs: 0,
  told: 0,
  field: NO_FIELD,
};

/** The law that outputs have no effect on polls, commits and delivery. */
export const UNNOTICED = "outputs hold up neither poll nor commit nor delivery";

/** Plays a story and checks the laws. An unexpected error counts as a broken law. */
export async function verdictOf(story: Story, options: RunOptions = {}): Promise<Verdict> {
  const faults = story.faults.length;
  try {
    const played = await play(story, options);
    try {
      const broken = [...judge(played), ...(await comparedWith(played, story, options))];
      return { broken, hash: played.hash, faults, sent: played.sent };
    } finally {
      played.close();
    }
  } catch (error) {
    const places = [error instanceof Error ? (error.stack ?? error.message) : String(error)];
    return { broken: [{ law: ENDS, places }], hash: "", faults, sent: NOTHING };
  }
}

/**
 * Plays the story without its outputs and compares: every take and every record at the service must have the same
 * instant.
 */
async function comparedWith(played: Played, story: Story, { bug = null }: RunOptions): Promise<readonly Broken[]> {
  if (story.is_compared !== true) return [];
  const { outputs, ...rest } = story;
  const without = await play({ ...rest, faults: story.faults.filter((fault) => !("output" in fault)) }, { bug });
  try {
    const own = accountOf(played);
    const other = accountOf(without);
    const at = own.findIndex((line, index) => line !== other[index]);
    if (at < 0 && own.length === other.length) return [];
    const places = [
      `with ${String(outputs?.length)}: ${own[at] ?? "nothing more"}`,
      `without: ${other[at] ?? "nothing more"}`,
    ];
    return [{ law: UNNOTICED, places }];
  } finally {
    without.close();
  }
}

/**
 * Returns takes and records as sorted lines without their numbers, because the order of two records of one instant is
 * undefined. That order also decides how polls are split into coverage records, so these are left out. Each poll is
 * among the takes.
 */
function accountOf({ ledger, outcome }: Played): readonly string[] {
  const takes = ledger.takes.map(({ at, entry }) => {
    return `taken at ${new Date(at).toISOString()}: ${JSON.stringify({ ...entry, take: 0 })}`;
  });
  const records = heldRecords(outcome.service.db).filter(({ kind }) => kind !== KIND.coverage);
  const held = records.map((record) => `held: ${JSON.stringify({ ...record, seq: 0 })}`);
  return [...takes.sort(), ...held.sort()];
}
