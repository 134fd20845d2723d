import { LinkError, type LinkErrorKind } from "../../domain/link-error.ts";
import type { Block } from "../rules/plan.ts";
import { isBitTable } from "../../domain/profile.ts";
import type { Milliseconds } from "../../domain/units.ts";
import { deadlineOf, heard, MOST_SILENT, type Answering } from "./answering.ts";
import { deviceError } from "./group-outcome.ts";
import { blockRead } from "./late-answers.ts";
import type { ModbusLine } from "./line.ts";
import type { Renewing } from "./renewing.ts";
import type { BlockAnswer } from "./session.ts";

export interface AskerOptions {
  readonly line: ModbusLine;
  readonly connection: Renewing;
  readonly unitId: number;
  /** The longest that an answer is waited for. */
  readonly answer_ms: Milliseconds;
  /** Rest that the device wants between an answer and a request. */
  readonly min_gap_ms: Milliseconds;
  readonly device: Answering;
}

/** The same request, sent again over another connection, brought no right answer either. */
export interface Unanswered {
  readonly kind: "unanswered";
  readonly error: LinkError;
}

/** Asks a device over a connection, and over a fresh one where an answer didn't come or wasn't right. One at a time. */
export interface Asker {
  /** A poll begins: throws where the connection has ended since, for its owner to make another. */
  begin(): void;
  /** Sends one request, and again where the answer was lost. Rejects with a LinkError where the device is away, or says that it can't answer now. */
  ask(block: Block): Promise<BlockAnswer | Unanswered>;
}

/** After its deadline an answer is taken for possible for so many deadlines more. */
export const LATE_ANSWERS = 2;
/** How often the same is asked. Over RTU once more, since what is given up costs a marker too. */
const TRIES = { numbered: 2, unnumbered: 3 };
/** So many markers are tried in a row, each of another size. */
const MOST_MARKERS = 4;
/** An answer without its data. */
const FRAME_BYTES = 5;

/** The answer is missing, or was spoilt on its way. */
const LOST: ReadonlySet<LinkErrorKind> = new Set(["timeout", "malformed"]);
/** The connection is. */
const BROKEN: ReadonlySet<LinkErrorKind> = new Set(["closed", "reset", "refused"]);

export function isLost(error: unknown): error is LinkError {
  return error instanceof LinkError && (LOST.has(error.kind) || BROKEN.has(error.kind));
}

/**
 * An answer that was given up must never be taken for another's. Over TCP the connection that it would come on is gone.
 * Over RTU frames carry no number: a first answer that comes late is still the right one for the same request sent again.
 * Before a block of the same size a marker is read, a part of a block so long that its answer can be no other: behind that
 * nothing comes late any more. Where no block has such a part, what was given up is waited for.
 */
export function asker(options: AskerOptions): Asker {
  const { line, connection, device, unitId } = options;
  const send = sender(options);
  let answeredInPoll = false;
  /** It was the device that ended the connection in this poll, after it had answered there. */
  let left_with: LinkError | null = null;

  const mayRepeat = ({ kind }: LinkError): boolean =>
    device.silent < MOST_SILENT && (LOST.has(kind) || connection.onTrial());
  /** Who leaves may come back as another: nothing more is asked before the link's owner has looked who answers there. */
  const hasLeft = ({ kind }: LinkError): boolean => BROKEN.has(kind) && answeredInPoll && !connection.onTrial();
  /** Throws what is no lost answer but the end, or the device's own word. */
  const lostIn = (error: unknown): LinkError => {
    if (connection.ended() !== null || !isLost(error)) throw connection.ended() ?? error;
    device.silent += 1;
    connection.session().end(error);
    if (hasLeft(error)) left_with = error;
    else if (!mayRepeat(error)) throw error;
    return error;
  };
  const answered = (answer: BlockAnswer): BlockAnswer => {
    const error = answer.kind === "exception" ? deviceError(answer.code) : null;
    if (error !== null) {
      connection.session().end(error);
      throw error;
    }
    answeredInPoll = true;
    connection.proved();
    return answer;
  };
  const stand = (from: number): Promise<void> =>
    connection.stand(Math.max(from, line.touched_at + line.silence_ms)).catch((error: unknown) => {
      // Nobody is there at all; a device that refuses has just been there.
      if (error instanceof LinkError && error.kind === "timeout") device.silent = MOST_SILENT;
      throw error;
    });
  /** Once; a LinkError: the answer was lost. */
  const attempt = (block: Block, from: number): Promise<BlockAnswer | LinkError> =>
    stand(from)
      .then(() => send(block, from))
      .then(answered)
      .catch(lostIn);
  /** From when on what comes can be of this block alone. */
  const plainFrom = async (block: Block): Promise<number> => {
    for (let left = MOST_MARKERS; left_with === null && !line.late.isPlain(blockRead(unitId, block)); left--) {
      const marker = device.readable === null || left === 0 ? null : line.late.markerIn(unitId, device.readable);
      if (marker === null) return line.late.until(unitId);
      await attempt(marker, -Infinity);
    }
    return -Infinity;
  };
  const tried = async (block: Block, left: number): Promise<BlockAnswer | Unanswered> => {
    const from = await plainFrom(block);
    const answer = left_with ?? (await attempt(block, from));
    if (!(answer instanceof LinkError)) {
      // The widest has most parts; one register alone has none.
      if (answer.kind !== "exception" && block.count >= (device.readable?.count ?? 2)) device.readable = block;
      return answer;
    }
    return left > 1 && left_with === null ? tried(block, left - 1) : { kind: "unanswered", error: answer };
  };

  return {
    begin: () => {
      answeredInPoll = false;
      left_with = null;
      const ended = connection.session().ended();
      if (ended === null) return;
      // A connection that was given up in the last poll is made anew by its owner, who looks who answers there.
      const isKnown = connection.ended() === null && device.silent < MOST_SILENT && LOST.has(ended.kind);
      throw isKnown ? new LinkError("closed", `made anew after: ${ended.message}`, ended) : ended;
    },
    ask: (block) => tried(block, line.numbered ? TRIES.numbered : TRIES.unnumbered),
  };
}

/** Sends one request after the rest that line and device want. */
function sender({ line, connection, unitId, answer_ms, min_gap_ms, device }: AskerOptions) {
  let lastAnswer = -Infinity;
  const rest = async (then: number): Promise<void> => {
    const ms = Math.ceil(then - performance.now());
    if (ms > 0) await connection.session().pause(ms);
  };
  return async (block: Block, from: number): Promise<BlockAnswer> => {
    await rest(Math.max(from, lastAnswer + min_gap_ms, line.touched_at + line.silence_ms));
    const asked_at = performance.now();
    device.asked += 1;
    try {
      const answer = await connection.session().read(block, deadlineOf(device, answer_ms));
      line.touched_at = lastAnswer = performance.now();
      heard(device, lastAnswer - asked_at);
      return answer;
    } catch (error) {
      if (connection.ended() === null) device.missed += 1;
      // What came spoilt is nearly over, though its rest is still on the line.
      const isSpoilt = error instanceof LinkError && error.kind === "malformed";
      line.late.gaveUp(blockRead(unitId, block), { asked_at, for_ms: isSpoilt ? answer_ms : LATE_ANSWERS * answer_ms });
      lastAnswer = performance.now();
      line.touched_at = lastAnswer + (isSpoilt ? answerMs(block, line) : 0);
      throw error;
    }
  };
}

/** What a whole answer takes on the line. */
function answerMs({ table, count }: Block, { byte_ms }: ModbusLine): Milliseconds {
  return byte_ms * (FRAME_BYTES + (isBitTable(table) ? Math.ceil(count / 8) : 2 * count));
}
