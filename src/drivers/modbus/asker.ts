import { LinkError } from "../../core/link-error.ts";
import type { Block } from "../../core/plan.ts";
import type { Milliseconds } from "../../core/types/units.ts";
import { deviceError } from "./group-outcome.ts";
import type { ModbusLine } from "./line.ts";
import type { BlockAnswer, Session } from "./session.ts";

export interface AskerOptions {
  readonly line: ModbusLine;
  readonly unitId: number;
  /** How long an answer is waited for. */
  readonly answer_ms: Milliseconds;
  /** Rest that the device wants between an answer and a request. */
  readonly min_gap_ms: Milliseconds;
}

/** After its deadline an answer is taken for possible for so many deadlines more. */
export const LATE_ANSWERS = 2;

/**
 * Sends one request after the rest that line and device want. Exceptions that concern the whole device are thrown. Where
 * frames carry no number, a unit whose answer was given up is left alone until that answer can't come any more.
 */
export function asker(session: Session, options: AskerOptions): (block: Block) => Promise<BlockAnswer> {
  const { line, unitId, min_gap_ms, answer_ms } = options;
  const rest_ms = Math.max(min_gap_ms, line.silence_ms);
  let lastAnswer = -Infinity;
  const pauseUntil = async (then: number): Promise<void> => {
    const rest = Math.ceil(then - performance.now());
    if (rest > 0) await session.pause(rest);
  };
  return async (block) => {
    if (!line.numbered) await pauseUntil(line.late_until.get(unitId) ?? -Infinity);
    if (rest_ms > 0) await pauseUntil(Math.max(lastAnswer + min_gap_ms, line.touched_at + line.silence_ms));
    const wasSent = session.alive();
    try {
      const answer = await session.read(block);
      const error = answer.kind === "exception" ? deviceError(answer.code) : null;
      if (error === null) return answer;
      session.end(error);
      throw error;
    } catch (error) {
      if (!line.numbered && wasSent) line.late_until.set(unitId, performance.now() + lateness(error, answer_ms));
      throw error;
    } finally {
      if (rest_ms > 0) line.touched_at = lastAnswer = performance.now();
    }
  };
}

/** How long an answer that was given up may still be on its way: what came spoilt is nearly over. */
function lateness(error: unknown, answer_ms: Milliseconds): Milliseconds {
  const kind = error instanceof LinkError ? error.kind : "timeout";
  if (kind === "busy" || kind === "path") return 0;
  return kind === "malformed" ? answer_ms : LATE_ANSWERS * answer_ms;
}
