import type { Orders } from "../rules/decode.ts";
import type { Block } from "../rules/plan.ts";
import { type ModbusTag, pointWidth } from "../../domain/profile.ts";
import type { Sample } from "../../domain/sample.ts";
import type { Milliseconds, TagName } from "../../domain/units.ts";
import { agreed, believe, suspects, type DoubtedCounter, zerosToHold } from "../rules/doubted-counter.ts";
import { samplesOf } from "./group-outcome.ts";
import type { GroupPlan } from "./group-plan.ts";
import { noOutcome, type PieceOutcome, type PieceReader } from "./read-piece.ts";

export interface PolledGroup {
  readonly plan: GroupPlan;
  readonly outcome: PieceOutcome;
  readonly orders: Orders;
  readonly witness: DoubtedCounter;
}

/** What a poll gave, after what looked odd in it was looked at again. */
export interface Looked {
  readonly samples: readonly Sample[];
  readonly witness: DoubtedCounter;
}

/** One register can't be torn. */
const isWide = (tag: ModbusTag): boolean => tag.point.type !== "string" && pointWidth(tag.point) > 1;

/**
 * Holds blocks that are suddenly all zero, and reads the blocks of counters that fell or ran a second time.
 * @param io mono: the clock that rates are measured by
 */
export async function secondLook(
  poll: PolledGroup,
  io: { readonly ask: PieceReader["ask"]; readonly mono: () => Milliseconds },
): Promise<Looked> {
  const { plan, outcome, orders } = poll;
  const first_mono = io.mono();
  const read = samplesOf(plan, outcome, orders);
  const { witness, samples } = withoutSuddenZeros(poll, read);
  const wide = plan.tags.filter(isWide);
  const odd = suspects(witness, { mono: first_mono, samples }, wide);
  if (odd.size === 0) return { samples, witness: believe(witness, { mono: first_mono, samples }, wide) };
  const again = await readAgain(poll, odd, io.ask);
  const second = { mono: io.mono(), first_mono, samples: again };
  const settled = agreed(samples, second, wide);
  return { samples: settled, witness: believe(witness, { mono: second.mono, samples: settled }, wide) };
}

function withoutSuddenZeros({ plan, outcome, witness }: PolledGroup, samples: readonly Sample[]): Looked {
  const blocks = outcome.answered.flatMap(({ piece, data }) =>
    data.kind === "words" ? [{ key: keyOf(piece.block), words: data.words }] : [],
  );
  const looked = zerosToHold(witness, blocks, isRestarted(plan, samples));
  if (looked.held.size === 0) return { samples, witness: looked.witness };
  const held = new Set(
    outcome.answered.flatMap(({ piece }) => (looked.held.has(keyOf(piece.block)) ? piece.indices : [])),
  );
  const kept = samples.map((sample, index): Sample =>
    held.has(index) ? { tag: sample.tag, value: null, quality: "bad", reason: "all_zero" } : sample,
  );
  return { samples: kept, witness: looked.witness };
}

/** The PLC itself says that it has just started. */
function isRestarted(plan: GroupPlan, samples: readonly Sample[]): boolean {
  return plan.tags.some((tag, index) => tag.role === "first_scan" && samples[index]?.value === true);
}

function keyOf(block: Block): string {
  return `${block.table} ${block.address} ${block.count}`;
}

/** The blocks with these tags once more; of what they bring, these tags alone. */
async function readAgain(
  { plan, outcome, orders }: PolledGroup,
  odd: ReadonlySet<TagName>,
  ask: PieceReader["ask"],
): Promise<readonly Sample[]> {
  const answered: PieceOutcome["answered"][number][] = [];
  for (const { piece } of outcome.answered) {
    if (!piece.indices.some((index) => odd.has(plan.tags[index]?.name ?? ""))) continue;
    const data = await ask(piece.block);
    if (typeof data !== "string" && data.kind !== "exception") answered.push({ piece, data });
  }
  return samplesOf(plan, { ...noOutcome(), answered }, orders).filter(({ tag }) => odd.has(tag));
}
