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
    if (line.late_ms > 0) await pauseUntil(line.late_until.get(unitId) ?? -Infinity);
    if (rest_ms > 0) await pauseUntil(Math.max(lastAnswer + min_gap_ms, line.touched_at + line.silence_ms));
    const wasSent = session.alive();
    try {
      const answer = await session.read(block);
      const error = answer.kind === "exception" ? deviceError(answer.code) : null;
      if (error === null) return answer;
      session.end(error);
      throw error;
    } catch (error) {
      if (line.late_ms > 0 && wasSent && mayComeLate(error)) {
        line.late_until.set(unitId, performance.now() + Math.max(line.late_ms, 2 * answer_ms));
      }
      throw error;
    } finally {
      if (rest_ms > 0) line.touched_at = lastAnswer = performance.now();
    }
  };
}

function mayComeLate(error: unknown): boolean {
  return (
    error instanceof LinkError && (error.kind === "timeout" || error.kind === "malformed" || error.kind === "closed")
  );
}
