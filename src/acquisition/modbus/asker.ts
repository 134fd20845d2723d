import { LinkError, type LinkErrorKind, PeerClosed } from "../../domain/link-error.ts";
import { isBitTable } from "../../domain/profile.ts";
import type { Milliseconds } from "../../domain/units.ts";
import type { Block } from "../rules/plan.ts";
import { blockRead, LATE_ANSWERS } from "./rtu.ts";
import type { ModbusLine } from "./wire.ts";
import type { BlockAnswer, Renewing } from "./session.ts";
import { say } from "../../domain/sentences.ts";
import { monotonicMs } from "../../monotonic.ts";

/** So many requests in a row without a right answer, and the device is away. One that loses a fifth of them does so once an hour. */
const MOST_SILENT = 6;
/** A PLC answers once per scan, 50 ms at most; a deadline nearer than two of them would take a busy one for a lost reply. */
const LEAST_ANSWER_MS: Milliseconds = 100;
/** An answer takes at most so many times what the slowest one took. More costs where replies are lost: each is waited for so long. */
const ROOM = 2;
/** A slow answer weighs half as much after 52 others: one in fifty is waited for. */
const FORGETTING = 0.987;

export type Answering = ReturnType<typeof unknownDevice>;

/**
 * How a device has been answering, over its connections. Counts are since the agent's start. Nobody vouches for one that hasn't
 * answered yet: its first failure counts in full.
 */
export function unknownDevice() {
  return {
    /** Its slowest answer, by and by forgotten; null: none is known. */
    slowest_ms: null as Milliseconds | null,
    /** Requests in a row that weren't answered, or not rightly. */
    silent: MOST_SILENT,
    asked: 0,
    missed: 0,
    /** What it gave values for, of several registers; null: nothing is known. */
    readable: null as Block | null,
    closing: keepsConnections(),
  };
}

/** Whether a device closes each connection after a number of answers. Some simple devices and gateways do so after each one. */
interface Closing {
  /** The number of answers after which it closes; null: it keeps connections, or too little is known. */
  per_connection: number | null;
  /** Answers on the last connection that it closed right after one, and how many connections in a row had as many. */
  answers: number;
  times: number;
  /** Connections that we ended since `per_connection` is known. */
  ended: number;
}

function keepsConnections(): Closing {
  return { per_connection: null, answers: 0, times: 0, ended: 0 };
}

/** A device that closes after a complete answer does so at once; later it is an idle timeout or another cause. */
const CLOSES_WITHIN_MS: Milliseconds = 250;
/** A device that restarts closes one connection like that, and hardly a second one after as many answers. */
const CLOSES_TO_LEARN = 2;
/** A simple device listens again some time after it has closed: it is tried for 0.7 s. One that stays away is soon reported. */
const REFUSED_TRIES = 4;
/** One connection in so many is left open, to find out whether the device keeps it by now: once in a few minutes. */
const LEAVE_OPEN_EVERY = 500;

function learnClose(closing: Closing, answers: number): void {
  closing.times = closing.answers === answers ? closing.times + 1 : 1;
  closing.answers = answers;
  if (closing.times >= CLOSES_TO_LEARN) closing.per_connection = answers;
}

function heard(device: Answering, took_ms: Milliseconds): void {
  device.silent = 0;
  device.slowest_ms = Math.max(took_ms, (device.slowest_ms ?? 0) * FORGETTING);
}

/**
 * How long the next answer is waited for, as the device's answers have taught. The last request before the device is given
 * up has the configured time in full: it may only have become slower.
 */
function deadlineOf(device: Answering, configured_ms: Milliseconds): Milliseconds {
  if (device.slowest_ms === null || device.silent >= MOST_SILENT - 1) return configured_ms;
  return Math.min(configured_ms, Math.max(LEAST_ANSWER_MS, ROOM * device.slowest_ms));
}

interface AskedDevice {
  readonly line: ModbusLine;
  readonly connection: Renewing;
  readonly unitId: number;
  /** The longest that an answer is waited for. */
  readonly answer_ms: Milliseconds;
  /** Rest that the device wants between an answer and a request. */
  readonly min_gap_ms: Milliseconds;
  readonly device: Answering;
}

/** Asks for one block. A text: why there is no answer. */
export type AskBlock = (block: Block) => Promise<BlockAnswer | UnansweredReason>;

/** Of what was asked for: nothing came, or something that isn't an answer to that. */
export type UnansweredReason = "no_answer" | "wrong_answer";

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

function isLost(error: unknown): error is LinkError {
  return error instanceof LinkError && (LOST.has(error.kind) || BROKEN.has(error.kind));
}

/**
 * Begins polls of a device over a connection, and over a fresh one where an answer didn't come or wasn't right. One at a time; each
 * throws where the connection has ended since, for its owner to make another. Each block is asked for, and again where the answer was
 * lost. A device that goes away in the midst leaves what it has answered; what wasn't asked for by then has the same reason. Before
 * it has answered anything that rejects with a LinkError, as does what it says of not answering now.
 *
 * An answer that was given up must never be taken for another's. Over TCP the connection that it would come on is gone.
 * Over RTU frames carry no number: a first answer that comes late is still the right one for the same request sent again.
 * Before a block of the same size a marker is read, a part of a block so long that its answer can be no other: behind that
 * nothing comes late any more. Where no block has such a part, what was given up is waited for.
 */
export function asker(asked: AskedDevice): () => AskBlock {
  const { line, connection, device, unitId } = asked;
  const send = sender(asked);
  const tries = line.numbered ? TRIES.numbered : TRIES.unnumbered;
  const closes = closeWatch(device, connection);
  let answeredInPoll = false;
  /** It was the device that ended the connection in this poll, after it had answered there. */
  let left_with: LinkError | null = null;

  const mayRepeat = (error: LinkError): boolean =>
    closes.goesOn(error, answeredInPoll) ||
    (device.silent < MOST_SILENT && (LOST.has(error.kind) || connection.onTrial()));
  /** Who leaves may come back as another: nothing more is asked before the link's owner has looked who answers there. */
  const hasLeft = (error: LinkError): boolean =>
    BROKEN.has(error.kind) && answeredInPoll && !connection.onTrial() && !closes.goesOn(error, answeredInPoll);
  /** Throws what is no lost answer but the end, or the device's own word. */
  const lostIn = (error: unknown): LinkError => {
    if (connection.ended() !== null || !isLost(error)) throw connection.ended() ?? error;
    device.silent += 1;
    closes.end(error);
    if (hasLeft(error)) left_with = error;
    else if (!mayRepeat(error)) throw closes.isStale(error) ? madeAnewAfter(error) : error;
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
    closes.answered();
    return answer;
  };
  const stand = (from: number): Promise<void> =>
    closes.stand(Math.max(from, line.touched_at + line.silence_ms)).catch((error: unknown) => {
      // Nobody is there at all; a device that refuses has just been there.
      if (error instanceof LinkError && error.kind === "timeout") device.silent = MOST_SILENT;
      throw error;
    });
  /** Once; a LinkError: the answer was lost. */
  const attempt = async (block: Block, from: number): Promise<BlockAnswer | LinkError> => {
    try {
      if (connection.session().ended() !== null) await stand(from);
      return answered(await send(block, from));
    } catch (error) {
      return lostIn(error);
    }
  };
  const isPlain = (block: Block): boolean => line.numbered || line.late.isPlain(blockRead(unitId, block));
  /** From when on what comes can be of this block alone. */
  const plainFrom = async (block: Block): Promise<number> => {
    for (let left = MOST_MARKERS; left_with === null && !isPlain(block); left--) {
      const marker = device.readable === null || left === 0 ? null : line.late.markerIn(unitId, device.readable);
      if (marker === null) return line.late.until(unitId);
      await attempt(marker, -Infinity);
    }
    return -Infinity;
  };
  const tried = async (block: Block, left: number): Promise<BlockAnswer | LinkError> => {
    const from = isPlain(block) ? repeatedFrom(asked, block, left === tries) : await plainFrom(block);
    const answer = left_with ?? (await attempt(block, from));
    if (answer instanceof LinkError) return left > 1 && left_with === null ? tried(block, left - 1) : answer;
    // The widest has most parts; one register alone has none.
    if (answer.kind !== "exception" && block.count >= (device.readable?.count ?? 2)) device.readable = block;
    return answer;
  };

  return () => {
    answeredInPoll = false;
    left_with = null;
    const ended = connection.session().ended();
    if (ended === null || closes.isExpected()) return untilGone(connection, (block) => tried(block, tries));
    // A connection that was given up in the last poll is made anew by its owner, who looks who answers there.
    const isKnown = connection.ended() === null && device.silent < MOST_SILENT && LOST.has(ended.kind);
    closes.learn(ended);
    throw isKnown || closes.isUsual(ended) ? madeAnewAfter(ended) : ended;
  };
}

/** A block that an earlier poll asked for twice is asked for again only once no second answer to that can come any more. */
function repeatedFrom({ line, unitId }: AskedDevice, block: Block, isFirstTry: boolean): number {
  return isFirstTry ? line.late.sameUntil(blockRead(unitId, block)) : -Infinity;
}

function madeAnewAfter(error: LinkError): LinkError {
  return new LinkError("closed", say("plc.closed.after", { reason: error.message }), error);
}

/** Follows a device's connections, one after the other, and learns whether it closes them after a number of answers. */
function closeWatch(device: Answering, connection: Renewing) {
  const { closing } = device;
  let answers = 0;
  let answered_at = -Infinity;
  let isLearned = false;
  /** Ends a connection that the device closes anyway. */
  const finished = new LinkError("closed", say("plc.closed.gateway"));
  const isAfterAnswer = (error: LinkError): boolean =>
    error instanceof PeerClosed && answers > 0 && connection.session().endedAt() - answered_at <= CLOSES_WITHIN_MS;
  /** The connection that ended with this error ended as the device ends them all, which is no fault. */
  const isUsual = (error: LinkError): boolean => error === finished || isAfterAnswer(error);
  /** The last connection has ended as the device is known to end them: a new one is made for the next request. */
  const isExpected = (): boolean => {
    const ended = connection.session().ended();
    return ended !== null && connection.ended() === null && closing.per_connection !== null && isUsual(ended);
  };
  const learn = (error: LinkError): void => {
    if (isLearned || !isAfterAnswer(error)) return;
    isLearned = true;
    learnClose(closing, answers);
  };
  return {
    isUsual,
    isExpected,
    /**
     * Whether the poll goes on over a new connection. Until the device is known to close, the first request of a poll fails instead, so
     * that the link's owner looks which device answers.
     */
    goesOn: (error: LinkError, answeredInPoll: boolean): boolean =>
      isUsual(error) && (answeredInPoll || closing.per_connection !== null),
    /** Learns from the end of the connection, once for each. */
    learn,
    /** Ends the connection after a request without an answer. */
    end: (error: LinkError): void => {
      connection.session().end(error);
      learn(error);
    },
    /** A connection that had answered turned out to be gone with the next request. */
    isStale: (error: LinkError): boolean => error instanceof PeerClosed && answers > 0,
    /** Counts a complete answer, and ends the connection if it has served its last request. */
    answered: (): void => {
      answers += 1;
      answered_at = monotonicMs();
      const { per_connection } = closing;
      if (per_connection === null || answers < per_connection) return;
      if (answers > per_connection) Object.assign(closing, keepsConnections());
      else if (++closing.ended % LEAVE_OPEN_EVERY !== 0) connection.session().finish(finished);
    },
    /** Makes the connection anew. */
    stand: async (then: number): Promise<void> => {
      const ended = connection.session().ended();
      if (ended !== null) learn(ended);
      const isUsualEnd = isExpected();
      answers = 0;
      isLearned = false;
      await connection.stand(then, isUsualEnd).catch((error: unknown) => {
        const isRefused = error instanceof LinkError && error.kind === "refused";
        if (isUsualEnd && isRefused) device.silent = Math.max(device.silent, MOST_SILENT - REFUSED_TRIES);
        throw error;
      });
    },
  };
}

/** Until the device is gone for good in this poll, after it had answered. */
function untilGone(connection: Renewing, ask: (block: Block) => Promise<BlockAnswer | LinkError>): AskBlock {
  let answered = false;
  let gone: UnansweredReason | null = null;
  return async (block) => {
    if (gone !== null) return gone;
    try {
      const answer = await ask(block);
      if (answer instanceof LinkError) return reasonOf(answer);
      answered = true;
      return answer;
    } catch (error) {
      if (!answered || connection.ended() !== null || !isLost(error)) throw error;
      return (gone = reasonOf(error));
    }
  };
}

function reasonOf({ kind }: LinkError): UnansweredReason {
  return kind === "malformed" ? "wrong_answer" : "no_answer";
}

/** Exceptions that concern the device as a whole or the way to it; null for those that concern what was asked for. */
function deviceError(code: number): LinkError | null {
  if (code === 6) return new LinkError("busy", say("plc.busy"));
  if (code === 10) return new LinkError("path", say("plc.no_path"));
  if (code === 11) return new LinkError("path", say("plc.behind_silent"));
  return null;
}

/** Sends one request after the rest that line and device want. */
function sender({ line, connection, unitId, answer_ms, min_gap_ms, device }: AskedDevice) {
  let lastAnswer = -Infinity;
  return async (block: Block, from: number): Promise<BlockAnswer> => {
    const then = Math.max(from, lastAnswer + min_gap_ms, line.touched_at + line.silence_ms);
    const rest_ms = Math.ceil(then - monotonicMs());
    if (rest_ms > 0) await connection.session().pause(rest_ms);
    const asked_at = monotonicMs();
    device.asked += 1;
    try {
      const answer = await connection.session().read(unitId, block, deadlineOf(device, answer_ms));
      line.touched_at = lastAnswer = monotonicMs();
      heard(device, lastAnswer - asked_at);
      return answer;
    } catch (error) {
      if (connection.ended() === null) device.missed += 1;
      // What came spoilt is nearly over, though its rest is still on the line.
      const isSpoilt = error instanceof LinkError && error.kind === "malformed";
      line.late.gaveUp(blockRead(unitId, block), { asked_at, for_ms: isSpoilt ? answer_ms : LATE_ANSWERS * answer_ms });
      lastAnswer = monotonicMs();
      line.touched_at = lastAnswer + (isSpoilt ? answerMs(block, line) : 0);
      throw error;
    }
  };
}

/** What a whole answer takes on the line. */
function answerMs({ table, count }: Block, { byte_ms }: ModbusLine): Milliseconds {
  return byte_ms * (FRAME_BYTES + (isBitTable(table) ? Math.ceil(count / 8) : 2 * count));
}
