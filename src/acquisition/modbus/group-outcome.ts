import { type BlockData, decodePoint, type Orders } from "../rules/decode.ts";
import { LinkError } from "../../domain/link-error.ts";
import type { Holes } from "../rules/plan.ts";
import { addHole, forgetHoles } from "../rules/plan-split.ts";
import type { ModbusTag } from "../../domain/profile.ts";
import type { Sample } from "../../domain/sample.ts";
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
  const samples = new Array<Sample | undefined>(plan.tags.length);
  for (const { piece, data } of outcome.answered) {
    for (const index of piece.indices) {
      const tag = plan.tags[index];
      if (tag !== undefined) samples[index] = decodedSample(tag, orders, { data, address: piece.block.address });
    }
  }
  for (const { piece, code } of outcome.refused) {
    for (const index of piece.indices) samples[index] = unread(plan, index, `exception_${code}`);
  }
  for (const { piece, reason } of outcome.unanswered) {
    for (const index of piece.indices) samples[index] = unread(plan, index, reason);
  }
  return Array.from(samples, (sample, index) => sample ?? unread(plan, index, "hole"));
}

/** Written out: a spread here was a fifth of a poll's CPU. */
function decodedSample(
  { name, point }: ModbusTag,
  orders: Orders,
  block: { data: BlockData; address: number },
): Sample {
  const decoded = decodePoint(point, orders, { data: block.data, index: point.address - block.address });
  return decoded.quality === "good"
    ? { tag: name, value: decoded.value, quality: "good" }
    : { tag: name, value: null, quality: "bad", reason: decoded.reason };
}

function unread(plan: GroupPlan, index: number, reason: string): Sample {
  return { tag: plan.tags[index]?.name ?? "", value: null, quality: "bad", reason };
}
