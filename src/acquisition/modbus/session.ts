import { message } from "../../domain/message.ts";
import { setTimeout as delay } from "node:timers/promises";
import { LinkError, type LinkErrorKind, PeerClosed } from "../../domain/link-error.ts";
import { isBitTable } from "../../domain/profile.ts";
import type { Milliseconds } from "../../domain/units.ts";
import { monotonicMs } from "../../monotonic.ts";
import type { ConnectTimes, RegisterAnswer } from "../port.ts";
import type { Block } from "../rules/plan.ts";
import { blockReader } from "./library.ts";
import { blockRead, LATE_ANSWERS } from "./rtu.ts";
import type { ModbusLine, Wire } from "./wire.ts";

/** This file has a connection to a Modbus device, then its replacement after a failure, then requests of blocks over the connection. */

/**
 * Longest wait for a pending answer when a connection is to be closed. A PLC answers within its scan, and the agent has only seconds to
 * stop.
 */
const FAREWELL_MS: Milliseconds = 500;

/** The pending operation of a session. */
interface Operation extends PromiseWithResolvers<Buffer | null> {
  /** Deadline, as monotonicMs(). */
  readonly due: number;
  timer?: NodeJS.Timeout;
}

/**
 * Runs one operation at a time until `end`. Every operation settles.
 * @param close frees the connection. It is called once, before the pending operation is rejected.
 */
function operations(close: (isUnusable?: boolean) => void) {
  let pending: Operation | null = null;
  let ended: LinkError | null = null;
  let ended_at = Infinity;
  let leaving: { readonly error: LinkError; readonly timer: NodeJS.Timeout } | null = null;
  const take = (): Operation | null => {
    const taken = pending;
    pending = null;
    clearTimeout(taken?.timer);
    return taken;
  };
  /** @param isUnusable an answer can still arrive on the wire, so other users of the wire need a new connection too */
  const end = (error: LinkError, isUnusable?: boolean): void => {
    if (ended !== null) return;
    ended = error;
    ended_at = monotonicMs();
    clearTimeout(leaving?.timer);
    const cut = take();
    close(isUnusable);
    cut?.reject(error);
  };
  return {
    end,
    /** Ends the session after the pending operation, or after `FAREWELL_MS`. */
    endSoon: (error: LinkError): void => {
      if (pending === null) end(error);
      else leaving ??= { error, timer: setTimeout(() => end(error), FAREWELL_MS) };
    },
    settle: (answer: Buffer | null): void => {
      take()?.resolve(answer);
      if (leaving !== null) end(leaving.error);
    },
    /** Starts an operation. If `isPending` returns true, `onDeadline` must settle the operation or end the session. */
    begin: (ms: Milliseconds, onDeadline: (isPending: () => boolean) => void): Promise<Buffer | null> => {
      if (ended !== null || pending !== null) {
        return Promise.reject(ended ?? new LinkError("config", message("plc.setup.under_way")));
      }
      const operation: Operation = { ...Promise.withResolvers<Buffer | null>(), due: monotonicMs() + ms };
      const watch = (): void => {
        // Restarts the timer if it has fired slightly early.
        const left = operation.due - monotonicMs();
        if (left > 0) operation.timer = setTimeout(watch, Math.ceil(left));
        else onDeadline(() => pending === operation);
      };
      pending = operation;
      watch();
      return operation.promise;
    },
    isBusy: () => pending !== null,
    ended: () => ended,
    /** Returns monotonicMs() at the end of the session; Infinity before that. */
    endedAt: () => ended_at,
  };
}

function overdue(what: string, ms: Milliseconds): LinkError {
  return new LinkError("timeout", message("plc.no_within", { what, ms }));
}

type Session = ReturnType<typeof modbusSession>;

/**
 * A connection to a device. It is opened once, ended once, and runs one operation at a time: open, pause or request. Every promise settles:
 * with its result, or with a LinkError. The error comes at the deadline, when the peer closes, at the first wrong byte, or when `end` is
 * called. After the end, every call rejects with the reason of the end. Only reads are sent: the framing refuses any other request, and the
 * refusal ends the connection.
 */
export function modbusSession(
  line: Pick<ModbusLine, "openWire" | "makeFraming">,
  { connect_ms, answer_ms }: ConnectTimes,
) {
  const framing = line.makeFraming();
  let wire: Wire | null = null;
  let isOpen = false;
  const { begin, settle, end, endSoon, isBusy, ended, endedAt } = operations((isUnusable = framing.isAwaiting) =>
    wire?.destroy(isUnusable),
  );
  const receive = (bytes: Buffer, count: number): void => {
    if (ended() !== null || !isOpen) return;
    const outcome = framing.take(bytes, count);
    if (outcome instanceof LinkError) end(outcome, true);
    // Copies the PDU, because the framing reuses its buffer.
    else if (outcome !== null) settle(Buffer.from(outcome.subarray(1)));
  };
  const requireIdle = (): void => {
    if (ended() === null && !isOpen) throw new LinkError("closed", message("plc.closed.not_open"));
    if (ended() !== null || isBusy()) throw ended() ?? new LinkError("config", message("plc.setup.under_way"));
  };
  const ask = async (unit: number, pdu: ArrayLike<number>, within_ms = answer_ms): Promise<Buffer> => {
    requireIdle();
    const frame = new Uint8Array(1 + pdu.length);
    frame[0] = unit;
    frame.set(pdu, 1);
    const request = framing.request(frame);
    if (request === null) {
      const error = new LinkError("config", message("plc.setup.reads_only"));
      end(error);
      throw error;
    }
    // Handles bytes that have arrived by the deadline, in case this process was delayed and not the device.
    const answered = begin(within_ms, (isPending) =>
      setImmediate(() => (isPending() ? end(overdue("answer", within_ms)) : undefined)),
    );
    wire?.write(request);
    return (await answered) ?? Buffer.alloc(0);
  };
  const readBlock = blockReader(ask);

  return {
    end,
    ended,
    endedAt,
    /** Ends the connection after the pending request, so that the device gets a FIN and no reset. */
    leave: (error: LinkError): void => (framing.isAwaiting ? endSoon(error) : end(error)),
    open: async (): Promise<void> => {
      const connected = begin(connect_ms, () => end(overdue("connection", connect_ms)));
      if (ended() === null) {
        wire = line.openWire({
          connected: () => {
            isOpen = true;
            settle(null);
          },
          data: receive,
          down: (error) => end(error, true),
        });
      }
      await connected;
    },
    /** Waits, for devices that need a rest before a request. Rejects with the same errors as a read. */
    pause: async (ms: Milliseconds): Promise<void> => void (await begin(ms, () => settle(null))),
    /** Sends a PDU. Returns the PDU of the answer. */
    ask,
    read: async (unit: number, block: Block, within_ms = answer_ms): Promise<RegisterAnswer> => {
      requireIdle();
      return readBlock(unit, block, within_ms);
    },
  };
}

/**
 * Pause before a reconnect if the last connection brought no answer; doubled with each such connection. Some devices allow only one
 * connection.
 */
const RECONNECT_MS: Milliseconds = 100;

export type Reconnecting = ReturnType<typeof reconnecting>;

/** A connection that is replaced after a failure, until `end` or `leave`. */
export function reconnecting(makeSession: () => Session, connect_delay_ms: Milliseconds) {
  const life = new AbortController();
  let session = makeSession();
  let ended: LinkError | null = null;
  let unproven = 0;
  let renewals = 0;
  const open = async (): Promise<void> => {
    await session.open();
    if (connect_delay_ms > 0) await session.pause(connect_delay_ms);
  };
  const endBy = (how: "end" | "leave") => (error: LinkError) => {
    ended ??= error;
    life.abort();
    session[how](error);
  };
  return {
    open,
    /** Returns the newest connection. */
    session: () => session,
    /**
     * Opens a new connection if the last one has ended. No request is sent before `from` (monotonicMs()). Rejects with a LinkError.
     * @param isUsual the device is known to close connections like this. Another device is unlikely, so its identity needn't be checked
     * again.
     */
    reopen: async (from: number, isUsual: boolean): Promise<void> => {
      const reason = session.ended();
      if (reason === null) return;
      // Pauses longer with each failed connection, but not after a timeout, because the device has already had that time to recover.
      const pause_ms = unproven === 0 || reason.kind === "timeout" ? 0 : RECONNECT_MS * 2 ** (unproven - 1);
      const wait = Math.max(pause_ms, Math.ceil(from - monotonicMs()));
      unproven += 1;
      if (wait > 0) await delay(wait, undefined, { signal: life.signal }).catch(() => undefined);
      if (ended !== null) throw ended;
      session = makeSession();
      if (!isUsual) renewals += 1;
      await open();
    },
    /** Notes that the connection has brought a correct answer. */
    setProven: () => void (unproven = 0),
    /** Returns whether the connection replaces a failed one and has not brought a correct answer yet. */
    isOnTrial: () => unproven > 0,
    /** Returns the number of reconnects. */
    renewals: () => renewals,
    /** Ends the connection without a replacement. The first reason is kept. */
    end: endBy("end"),
    /** Ends the connection without a replacement, after the pending request. */
    leave: endBy("leave"),
    /** Returns the reason given to `end` or `leave`; null: the connection can still be replaced. */
    ended: () => ended,
  };
}

/** Failed requests in a row after which the device counts as away. With 20 % packet loss that happens once an hour. */
const MAX_MISSES = 6;
/**
 * Shortest deadline. A PLC answers once per scan, which takes up to 50 ms; after less than two scans a busy PLC would count as a lost
 * reply.
 */
const MIN_ANSWER_MS: Milliseconds = 100;
/** Deadline as a multiple of the slowest answer. A larger factor makes each lost reply cost more time. */
const DEADLINE_FACTOR = 2;
/**
 * Factor on the slowest answer after each further answer. It halves after 52 answers, so a slowness that recurs once in fifty answers is
 * remembered.
 */
const DECAY = 0.987;

export type Answering = ReturnType<typeof unknownDevice>;

/**
 * How a device has been answering, over all its connections; modified in place. Counts start with the agent. A device that has never
 * answered counts as away after its first failure.
 */
export function unknownDevice() {
  return {
    /** Time that the device took for its slowest answer, which decays; null: not known. */
    slowest_ms: null as Milliseconds | null,
    /** Failed requests in a row. */
    misses: MAX_MISSES,
    asked: 0,
    missed: 0,
    /** The largest block of several registers that the device returned values for; null: not known. */
    readable: null as Block | null,
    closing: keepsConnections(),
  };
}

/** Whether a device closes each connection after a number of answers. Some simple devices and gateways close after each answer. */
interface Closing {
  /** The number of answers after which the device closes; null: it keeps connections, or too little is known. */
  per_connection: number | null;
  /** Number of answers on the last connection that the device closed right after an answer; `times` counts such connections in a row. */
  answers: number;
  times: number;
  /** Number of connections that this agent has ended since `per_connection` is known. */
  ended: number;
}

function keepsConnections(): Closing {
  return { per_connection: null, answers: 0, times: 0, ended: 0 };
}

/** Longest time from a complete answer to a close that the answer caused. A later close is an idle timeout or has another cause. */
const CLOSES_WITHIN_MS: Milliseconds = 250;
/**
 * Connections in a row that must end after the same number of answers. A restart of the device also ends one connection, but rarely two.
 */
const CLOSES_TO_LEARN = 2;
/**
 * Attempts to reconnect within 0.7 s, because a simple device may not listen right after closing. Afterwards the device is reported as
 * away.
 */
const REFUSED_TRIES = 4;
/** The agent leaves one in this many connections open, to find out every few minutes whether the device keeps connections now. */
const LEAVE_OPEN_EVERY = 500;

/**
 * Maximum attempts of one request. RTU has one more attempt, because a lost request also costs a marker (a read that flushes late answers).
 */
const TRIES = { numbered: 2, unnumbered: 3 };
/** Maximum number of marker reads in a row, each of another size. */
const MAX_MARKERS = 4;
/** Bytes of an RTU answer without its data. */
const FRAME_BYTES = 5;

/** Errors of a missing answer, or of an answer that was damaged on its way. */
const LOST: ReadonlySet<LinkErrorKind> = new Set(["timeout", "malformed"]);
/** Errors of a lost connection. */
const BROKEN: ReadonlySet<LinkErrorKind> = new Set(["closed", "reset", "refused"]);

function isLost(error: unknown): error is LinkError {
  return error instanceof LinkError && (LOST.has(error.kind) || BROKEN.has(error.kind));
}

/** Why a block has no values: no answer came, or the answer doesn't fit the request. */
export type UnansweredReason = "no_answer" | "wrong_answer";

/** Requests one block. */
export type AskBlock = (block: Block) => Promise<RegisterAnswer | UnansweredReason>;

interface AskedDevice {
  readonly line: ModbusLine;
  readonly connection: Reconnecting;
  readonly unitId: number;
  /** Longest deadline of an answer. */
  readonly answer_ms: Milliseconds;
  /** Rest that the device needs between an answer and the next request. */
  readonly min_gap_ms: Milliseconds;
  readonly device: Answering;
}

/**
 * Returns a function that starts a poll of a device; polls run one at a time. A poll requests block after block. It repeats a request whose
 * answer was lost, over a new connection if needed. Starting a poll throws if the connection has ended in the meantime: its owner then
 * makes a new driver. If the device goes away during a poll, answers received so far are kept, and all further blocks get the same reason.
 * If the device goes away before its first answer of the poll, the request rejects with a LinkError. An exception that concerns the whole
 * device also rejects.
 *
 * A late answer must never be assigned to another request. Over TCP, the agent closes the connection on which the late answer would arrive.
 * RTU frames carry no number: if the same request is sent again, a late first answer is still correct. Before another block of the same
 * size, the agent reads a marker: a part of a block whose answer has a unique size. No late answer can follow the answer to the marker. If
 * no block has such a part, the driver waits until the late answer can no longer arrive.
 */
export function blockAsker(asked: AskedDevice): () => AskBlock {
  const { line, connection, device, unitId } = asked;
  const send = sender(asked);
  const tries = line.numbered ? TRIES.numbered : TRIES.unnumbered;
  const closes = closeWatch(device, connection);
  let hasAnsweredInPoll = false;
  /** Error of the connection if the device ended it in this poll after an answer; null: it is still there. */
  let leftWith: LinkError | null = null;

  const canRepeat = (error: LinkError): boolean =>
    closes.isExpectedFor(error, hasAnsweredInPoll) ||
    (device.misses < MAX_MISSES && (LOST.has(error.kind) || connection.isOnTrial()));
  /**
   * Returns whether the device left during the poll. Another device may come back, so the link's owner first checks the device's identity.
   */
  const hasLeft = (error: LinkError): boolean =>
    BROKEN.has(error.kind) &&
    hasAnsweredInPoll &&
    !connection.isOnTrial() &&
    !closes.isExpectedFor(error, hasAnsweredInPoll);
  const attempt = async (block: Block, from: number): Promise<RegisterAnswer | LinkError> => {
    try {
      if (connection.session().ended() !== null) {
        await closes.reopen(Math.max(from, line.touched_at + line.silence_ms));
      }
      const answer = await send(block, from);
      const error = answer.kind === "exception" ? deviceError(answer.code) : null;
      if (error !== null) {
        connection.session().end(error);
        throw error;
      }
      hasAnsweredInPoll = true;
      connection.setProven();
      closes.countAnswer();
      return answer;
    } catch (error) {
      if (connection.ended() !== null || !isLost(error)) throw connection.ended() ?? error;
      device.misses += 1;
      closes.end(error);
      if (hasLeft(error)) leftWith = error;
      else if (!canRepeat(error)) throw closes.isStale(error) ? closedAfter(error) : error;
      return error;
    }
  };
  const isUnambiguous = (block: Block): boolean => line.numbered || line.late.isUnambiguous(blockRead(unitId, block));
  /** Returns the time from which an answer can only belong to this block. */
  const unambiguousFrom = async (block: Block): Promise<number> => {
    for (let left = MAX_MARKERS; leftWith === null && !isUnambiguous(block); left--) {
      const marker = device.readable === null || left === 0 ? null : line.late.markerIn(unitId, device.readable);
      if (marker === null) return line.late.until(unitId);
      await attempt(marker, -Infinity);
    }
    return -Infinity;
  };
  const askRepeatedly = async (block: Block, left: number): Promise<RegisterAnswer | LinkError> => {
    const isFirst = left === tries;
    // Waits for the second answer if an earlier poll sent this request twice. Otherwise that answer would show old values as new ones.
    const repeatFrom = isFirst ? line.late.sameUntil(blockRead(unitId, block)) : -Infinity;
    const from = isUnambiguous(block) ? repeatFrom : await unambiguousFrom(block);
    const answer = leftWith ?? (await attempt(block, from));
    if (answer instanceof LinkError) return left > 1 && leftWith === null ? askRepeatedly(block, left - 1) : answer;
    // Keeps the widest block, because it has the most parts. A single register has no parts.
    if (answer.kind !== "exception" && block.count >= (device.readable?.count ?? 2)) device.readable = block;
    return answer;
  };

  return () => {
    hasAnsweredInPoll = false;
    leftWith = null;
    const ended = connection.session().ended();
    if (ended === null || closes.isExpected()) return untilGone(connection, (block) => askRepeatedly(block, tries));
    // Leaves a connection that failed in the last poll to the link, which replaces it and checks which device answers.
    const isKnown = connection.ended() === null && device.misses < MAX_MISSES && LOST.has(ended.kind);
    closes.learn(ended);
    throw isKnown || closes.isUsual(ended) ? closedAfter(ended) : ended;
  };
}

function closedAfter(error: LinkError): LinkError {
  return new LinkError("closed", message("plc.closed.after", { reason: error.text }), error);
}

/**
 * Returns the error for exceptions that concern the whole device or the path to it; null for exceptions that concern the requested block.
 */
function deviceError(code: number): LinkError | null {
  if (code === 6) return new LinkError("busy", message("plc.busy"));
  if (code === 10) return new LinkError("path", message("plc.no_path"));
  if (code === 11) return new LinkError("path", message("plc.behind_silent"));
  return null;
}

/** Follows a device's connections, one after the other, and learns whether the device closes them after a number of answers. */
function closeWatch(device: Answering, connection: Reconnecting) {
  const { closing } = device;
  let answers = 0;
  let answered_at = -Infinity;
  let isLearned = false;
  /** Error of a connection that the agent ends because the device would close it anyway. */
  const finished = new LinkError("closed", message("plc.closed.gateway"));
  const isAfterAnswer = (error: LinkError): boolean =>
    error instanceof PeerClosed && answers > 0 && connection.session().endedAt() - answered_at <= CLOSES_WITHIN_MS;
  /** Returns whether a connection with this error ended the way the device usually ends connections, which is no fault. */
  const isUsual = (error: LinkError): boolean => error === finished || isAfterAnswer(error);
  /** Returns whether the last connection ended as expected from this device. The next request then opens a new connection. */
  const isExpected = (): boolean => {
    const ended = connection.session().ended();
    return ended !== null && connection.ended() === null && closing.per_connection !== null && isUsual(ended);
  };
  /** Learns from the end of a connection, once per connection. */
  const learn = (error: LinkError): void => {
    if (isLearned || !isAfterAnswer(error)) return;
    isLearned = true;
    closing.times = closing.answers === answers ? closing.times + 1 : 1;
    closing.answers = answers;
    if (closing.times >= CLOSES_TO_LEARN) closing.per_connection = answers;
  };
  return {
    isUsual,
    isExpected,
    learn,
    /**
     * Returns whether the poll continues over a new connection. If the device isn't known to close its connections, the first request of a
     * poll fails instead. The link's owner then checks which device answers.
     */
    isExpectedFor: (error: LinkError, hasAnsweredInPoll: boolean): boolean =>
      isUsual(error) && (hasAnsweredInPoll || closing.per_connection !== null),
    /** Ends the connection after a request without an answer. */
    end: (error: LinkError): void => {
      connection.session().end(error);
      learn(error);
    },
    /** Returns whether the device had already closed the connection when the request was sent. */
    isStale: (error: LinkError): boolean => error instanceof PeerClosed && answers > 0,
    /** Counts a complete answer. Ends the connection if the device would close it now. */
    countAnswer: (): void => {
      answers += 1;
      answered_at = monotonicMs();
      const { per_connection } = closing;
      if (per_connection === null || answers < per_connection) return;
      if (answers > per_connection) Object.assign(closing, keepsConnections());
      // `true`: other users of the wire need a new connection too.
      else if (++closing.ended % LEAVE_OPEN_EVERY !== 0) connection.session().end(finished, true);
    },
    /** Opens a new connection. No request is sent before `from`. */
    reopen: async (from: number): Promise<void> => {
      const ended = connection.session().ended();
      if (ended !== null) learn(ended);
      const isUsualEnd = isExpected();
      answers = 0;
      isLearned = false;
      await connection.reopen(from, isUsualEnd).catch((error: unknown) => {
        const kind = error instanceof LinkError ? error.kind : null;
        // Counts a connection timeout as enough misses, because no device is then reachable. A refused connection may succeed a moment
        // later.
        if (kind === "timeout") device.misses = MAX_MISSES;
        else if (isUsualEnd && kind === "refused") device.misses = Math.max(device.misses, MAX_MISSES - REFUSED_TRIES);
        throw error;
      });
    },
  };
}

/** Requests blocks until the device goes away during the poll, after it had answered. Further blocks then get the same reason at once. */
function untilGone(connection: Reconnecting, ask: (block: Block) => Promise<RegisterAnswer | LinkError>): AskBlock {
  const reasonOf = ({ kind }: LinkError): UnansweredReason => (kind === "malformed" ? "wrong_answer" : "no_answer");
  let hasAnswered = false;
  let gone: UnansweredReason | null = null;
  return async (block) => {
    if (gone !== null) return gone;
    try {
      const answer = await ask(block);
      if (answer instanceof LinkError) return reasonOf(answer);
      hasAnswered = true;
      return answer;
    } catch (error) {
      if (!hasAnswered || connection.ended() !== null || !isLost(error)) throw error;
      return (gone = reasonOf(error));
    }
  };
}

/** Returns a function that sends one request after the rest that the line and the device need. */
function sender({ line, connection, unitId, answer_ms, min_gap_ms, device }: AskedDevice) {
  let answered_at = -Infinity;
  /**
   * Returns the deadline, learned from the device's answers. The last request before the device counts as away gets the full configured
   * time, because the device may only have become slower.
   */
  const deadlineMs = (): Milliseconds => {
    const { slowest_ms, misses } = device;
    if (slowest_ms === null || misses >= MAX_MISSES - 1) return answer_ms;
    return Math.min(answer_ms, Math.max(MIN_ANSWER_MS, DEADLINE_FACTOR * slowest_ms));
  };
  return async (block: Block, from: number): Promise<RegisterAnswer> => {
    const earliest = Math.max(from, answered_at + min_gap_ms, line.touched_at + line.silence_ms);
    const rest_ms = Math.ceil(earliest - monotonicMs());
    if (rest_ms > 0) await connection.session().pause(rest_ms);
    const asked_at = monotonicMs();
    device.asked += 1;
    try {
      const answer = await connection.session().read(unitId, block, deadlineMs());
      line.touched_at = answered_at = monotonicMs();
      device.misses = 0;
      device.slowest_ms = Math.max(answered_at - asked_at, (device.slowest_ms ?? 0) * DECAY);
      return answer;
    } catch (error) {
      if (connection.ended() === null) device.missed += 1;
      // Takes into account that the rest of a damaged answer is still arriving.
      const isDamaged = error instanceof LinkError && error.kind === "malformed";
      const for_ms = isDamaged ? answer_ms : LATE_ANSWERS * answer_ms;
      line.late.gaveUp(blockRead(unitId, block), { asked_at, for_ms });
      answered_at = monotonicMs();
      line.touched_at = answered_at + (isDamaged ? answerMs(block, line) : 0);
      throw error;
    }
  };
}

/** Returns the time that a whole answer takes on the line. */
function answerMs({ table, count }: Block, { byte_ms }: ModbusLine): Milliseconds {
  return byte_ms * (FRAME_BYTES + (isBitTable(table) ? Math.ceil(count / 8) : 2 * count));
}
