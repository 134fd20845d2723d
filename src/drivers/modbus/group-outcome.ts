import { decodePoint } from "../../core/decode.ts";
import type { Orders } from "../../core/decode.ts";
import { LinkError } from "../../core/link-error.ts";
import type { Holes } from "../../core/plan.ts";
import { addHole, forgetHoles } from "../../core/plan-split.ts";
import type { Sample } from "../../core/types/sample.ts";
import type { GroupPlan } from "./group-plan.ts";
import type { PieceOutcome } from "./read-piece.ts";

/** What the answers of one poll mean. Pure. */

/** Exceptions that concern the device as a whole or the way to it; null for those that concern what was asked for. */
export function deviceError(code: number): LinkError | null {
  if (code === 6) return new LinkError("busy", "the device is busy (exception 6)");
  if (code === 10) return new LinkError("path", "the gateway in between has no path to the device (exception 10)");
  if (code === 11) return new LinkError("path", "the device behind the gateway doesn't answer (exception 11)");
  return null;
}

/** A device that refuses everything (its program is being loaded) teaches nothing about addresses. */
export function learn(before: Holes, outcome: PieceOutcome): Holes {
  if (outcome.answered.length === 0) return before;
  const kept = outcome.answered.reduce((holes, { piece }) => forgetHoles(holes, piece.block), before);
  return outcome.learned.reduce((holes, { table, range }) => addHole(holes, table, range), kept);
}

/** One sample per tag in the profile's order. What wasn't asked for this time lies in a hole. */
export function samplesOf(plan: GroupPlan, outcome: PieceOutcome, orders: Orders): readonly Sample[] {
  const samples = new Map<number, Sample>();
  for (const { piece, data } of outcome.answered) {
    for (const index of piece.indices) {
      const tag = plan.tags[index];
      if (tag === undefined) continue;
      const at = { data, index: tag.point.address - piece.block.address };
      samples.set(index, { tag: tag.name, ...decodePoint(tag.point, orders, at) });
    }
  }
  for (const { piece, code } of outcome.refused) {
    for (const index of piece.indices) samples.set(index, unread(plan, index, `exception_${code}`));
  }
  return plan.tags.map((_, index) => samples.get(index) ?? unread(plan, index, "hole"));
}

function unread(plan: GroupPlan, index: number, reason: string): Sample {
  return { tag: plan.tags[index]?.name ?? "", value: null, quality: "bad", reason };
}
