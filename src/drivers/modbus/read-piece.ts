import type { BlockData } from "../../core/decode.ts";
import type { Block } from "../../core/plan.ts";
import { gapBetween, halves, rangeOf } from "../../core/plan-split.ts";
import type { HoleRange, Piece } from "../../core/plan-split.ts";
import type { ModbusPoint, ModbusTable } from "../../core/types/profile.ts";
import type { BlockAnswer } from "./session.ts";

/** What came of reading one piece, split as far as the device made it necessary. */
export interface PieceOutcome {
  readonly answered: readonly { readonly piece: Piece; readonly data: BlockData }[];
  readonly refused: readonly { readonly piece: Piece; readonly code: number }[];
  readonly learned: readonly { readonly table: ModbusTable; readonly range: HoleRange }[];
}

export interface PieceReader {
  readonly points: readonly ModbusPoint[];
  ask(block: Block): Promise<BlockAnswer>;
  /** Whether one more piece may be split in this read; bounds what a device that refuses everything costs. */
  maySplit(): boolean;
}

/** Illegal function, address, value: the block's shape is at fault, so parts of it may be readable. */
const SPLITTABLE: ReadonlySet<number> = new Set([1, 2, 3]);

/** Reads a piece; where the device refuses it, its halves, down to single points. */
export async function readPiece(reader: PieceReader, piece: Piece): Promise<PieceOutcome> {
  const answer = await reader.ask(piece.block);
  if (answer.kind !== "exception") return { answered: [{ piece, data: answer }], refused: [], learned: [] };
  if (!SPLITTABLE.has(answer.code)) return refusal(piece, answer.code, []);
  const parts = halves(reader.points, piece);
  const { table } = piece.block;
  if (parts === null) return refusal(piece, answer.code, [{ table, range: rangeOf(piece.block) }]);
  if (!reader.maySplit()) return refusal(piece, answer.code, []);
  const left = await readPiece(reader, parts[0]);
  const right = await readPiece(reader, parts[1]);
  // Only where both halves answer as they are is what lies between them proven to be the reason.
  const gap = isWhole(left) && isWhole(right) ? [{ table, range: gapBetween(parts[0].block, parts[1].block) }] : [];
  return {
    answered: [...left.answered, ...right.answered],
    refused: [...left.refused, ...right.refused],
    learned: [...left.learned, ...right.learned, ...gap],
  };
}

function refusal(piece: Piece, code: number, learned: PieceOutcome["learned"]): PieceOutcome {
  return { answered: [], refused: [{ piece, code }], learned };
}

function isWhole(outcome: PieceOutcome): boolean {
  return outcome.answered.length === 1 && outcome.refused.length === 0;
}
