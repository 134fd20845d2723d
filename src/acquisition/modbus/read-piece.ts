import type { BlockData } from "../rules/decode.ts";
import type { Block } from "../rules/plan.ts";
import { gapBetween, halves, type HoleRange, type Piece, rangeOf } from "../rules/plan-split.ts";
import type { ModbusPoint, ModbusTable } from "../../domain/profile.ts";
import type { BlockAnswer } from "./session.ts";

/** What came of reading pieces, split as far as the device made it necessary. It grows with each answer, so that none is lost. */
export interface PieceOutcome {
  readonly answered: { readonly piece: Piece; readonly data: BlockData }[];
  readonly refused: { readonly piece: Piece; readonly code: number }[];
  readonly unanswered: { readonly piece: Piece; readonly reason: UnansweredReason }[];
  readonly learned: { readonly table: ModbusTable; readonly range: HoleRange }[];
}

/** Of a tag that was asked for: nothing came, or something that isn't an answer to that. */
export type UnansweredReason = "no_answer" | "wrong_answer";

export function noOutcome(): PieceOutcome {
  return { answered: [], refused: [], unanswered: [], learned: [] };
}

export interface PieceReader {
  readonly points: readonly ModbusPoint[];
  /** A text: why there is no answer. */
  ask(block: Block): Promise<BlockAnswer | UnansweredReason>;
  /** Whether one more piece may be split in this read; bounds what a device that refuses everything costs. */
  maySplit(): boolean;
}

/** Illegal function, address, value: the block's shape is at fault, so parts of it may be readable. */
const SPLITTABLE: ReadonlySet<number> = new Set([1, 2, 3]);

/** Reads a piece; where the device refuses it, its halves, down to single points. True: it was answered as it is. */
export async function readPiece(reader: PieceReader, piece: Piece, outcome: PieceOutcome): Promise<boolean> {
  const answer = await reader.ask(piece.block);
  if (typeof answer === "string") {
    outcome.unanswered.push({ piece, reason: answer });
    return false;
  }
  if (answer.kind !== "exception") {
    outcome.answered.push({ piece, data: answer });
    return true;
  }
  const { table } = piece.block;
  const parts = SPLITTABLE.has(answer.code) ? halves(reader.points, piece) : null;
  if (parts === null || !reader.maySplit()) {
    outcome.refused.push({ piece, code: answer.code });
    if (parts === null && SPLITTABLE.has(answer.code)) outcome.learned.push({ table, range: rangeOf(piece.block) });
    return false;
  }
  const left = await readPiece(reader, parts[0], outcome);
  const right = await readPiece(reader, parts[1], outcome);
  // Only where both halves answer as they are is what lies between them proven to be the reason.
  if (left && right) outcome.learned.push({ table, range: gapBetween(parts[0].block, parts[1].block) });
  return false;
}
