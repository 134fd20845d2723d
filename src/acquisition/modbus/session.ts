import modbus from "modbus-serial";
import { setTimeout as delay } from "node:timers/promises";
import { LinkError } from "../../domain/link-error.ts";
import { isBitTable, type ModbusTable } from "../../domain/profile.ts";
import type { Milliseconds } from "../../domain/units.ts";
import type { BlockData } from "../rules/decode.ts";
import type { Block } from "../rules/plan.ts";
import type { ConnectTimes } from "../port.ts";
import { CRC_BYTES } from "./framing.ts";
import type { ModbusLine, Wire } from "./wire.ts";
import { say } from "../../domain/sentences.ts";
import { monotonicMs } from "../../monotonic.ts";

/** Settles what is under way; of something that is over by then it does nothing. */
type Done<T> = (answer: T) => void;

interface Pending {
  readonly reject: (error: LinkError) => void;
  /** monotonicMs() at which its time is over. */
  readonly due: number;
  readonly late: () => void;
}

/**
 * What is under way on one connection: at most one thing, which always settles.
 * @param destroy frees the connection, once, before what is under way learns of the end
 */
function oneAtATime(destroy: () => void) {
  let pending: Pending | null = null;
  let ended: LinkError | null = null;
  let ended_at = Infinity;
  /** Why it ends with what is under way; null: it stays. */
  let leaving: { readonly error: LinkError; readonly timer: NodeJS.Timeout } | null = null;
  /** One for all: hardly anything takes as long as it may, so a timer of its own for each would be set in vain. */
  let timer: NodeJS.Timeout | undefined;
  let rings_at = Infinity;
  const ring = (): void => {
    rings_at = Infinity;
    if (pending === null) return;
    if (monotonicMs() >= pending.due) pending.late();
    else ringBy(pending.due);
  };
  const ringBy = (due: number): void => {
    if (rings_at <= due) return;
    clearTimeout(timer);
    rings_at = due;
    timer = setTimeout(ring, Math.ceil(due - monotonicMs()));
  };
  const end = (error: LinkError): void => {
    if (ended !== null) return;
    ended = error;
    ended_at = monotonicMs();
    clearTimeout(timer);
    clearTimeout(leaving?.timer);
    destroy();
    const cut = pending;
    pending = null;
    cut?.reject(error);
  };
  return {
    /** Rejects at once where something is under way, or after the end; `late` says what happens when its time is over. */
    begin: <T>(
      ms: Milliseconds,
      late: (done: Done<T>, waits: () => boolean) => void,
      act: (done: Done<T>) => void,
    ): Promise<T> =>
      new Promise((resolve, reject) => {
        if (ended !== null || pending !== null) {
          reject(ended ?? new LinkError("config", "a request is already under way"));
          return;
        }
        const done: Done<T> = (answer) => {
          if (pending !== own) return;
          pending = null;
          resolve(answer);
          if (leaving !== null) end(leaving.error);
        };
        const waits = (): boolean => pending === own;
        const own: Pending = { reject, due: monotonicMs() + ms, late: () => late(done, waits) };
        pending = own;
        ringBy(own.due);
        act(done);
      }),
    /** What is under way rejects with `error`, and so does everything after. The first reason stays. */
    end,
    /** Ends as soon as what is under way has settled, after `ms` at most. */
    endAfter: (error: LinkError, ms: Milliseconds): void => {
      if (pending === null) end(error);
      else leaving ??= { error, timer: setTimeout(() => end(error), ms) };
    },
    /** Why; null: it hasn't ended. */
    ended: () => ended,
    /** monotonicMs() at its end. */
    endedAt: () => ended_at,
  };
}

/** A PLC answers within its scan, and the agent has only seconds to stop. */
const FAREWELL_MS: Milliseconds = 500;

/** The error of something whose time is over. */
function overdue(what: string, ms: Milliseconds): LinkError {
  return new LinkError("timeout", say("plc.no_within", { what, ms }));
}

/** What a device said to one request: data, or a Modbus exception. */
export type BlockAnswer = BlockData | { readonly kind: "exception"; readonly code: number };

/** What we use of modbus-serial: four ways to read, none to write. */
type SendRead = (...request: [unit: number, address: number, count: number, next: Callback]) => void;
type Reader = Readonly<Record<"writeFC1" | "writeFC2" | "writeFC3" | "writeFC4", SendRead>>;
type Callback = (error: (Error & { modbusCode?: unknown }) | null, result?: { data: unknown[] }) => void;

const SEND: Readonly<Record<ModbusTable, keyof Reader>> = {
  coil: "writeFC1",
  discrete: "writeFC2",
  holding: "writeFC3",
  input: "writeFC4",
};

/**
 * One connection: opened once, ended once, one request at a time. Every promise settles: with an answer, or with a
 * LinkError at the deadline, at the peer's close, at the first wrong byte, or when `end` is called.
 */
export function modbusSession(line: FramedWire, { connect_ms, answer_ms }: ConnectTimes) {
  const { begin, end, endAfter, ended, endedAt } = oneAtATime(() => port.destroy());
  const port = wirePort(line, end);
  const client = new modbus.default(port);
  const reader = client as unknown as Reader;
  let isRequesting = false;
  const request = async <T>(
    within_ms: Milliseconds,
    send: (answered: (answer: T | LinkError) => void) => void,
  ): Promise<T> => {
    if (ended() === null && !port.isOpen) throw new LinkError("closed", say("plc.closed.not_open"));
    // What has arrived by the deadline counts, where this process was held up longer than the device took to answer.
    const late = (_: Done<T>, waits: () => boolean): void =>
      void setImmediate(() => (waits() ? end(overdue("answer", within_ms)) : undefined));
    const answered = begin<T>(within_ms, late, (done) => {
      isRequesting = true;
      try {
        send((answer) => (answer instanceof LinkError ? end(answer) : done(answer)));
      } catch (cause) {
        end(cause instanceof LinkError ? cause : new LinkError("config", "the request can't be sent", cause));
      }
    });
    return answered.finally(() => (isRequesting = false));
  };

  return {
    end,
    ended,
    endedAt,
    /** Ends in order: a request under way has `FAREWELL_MS` to be answered, so that the device sees a FIN and no reset. */
    leave: (error: LinkError): void => (isRequesting ? endAfter(error, FAREWELL_MS) : end(error)),
    /** The device closes this connection by now: booths that share the line need a new one, too. */
    finish: (error: LinkError): void => {
      port.destroy(true);
      end(error);
    },
    open: async (): Promise<void> => {
      const late = (): void => end(overdue("connection", connect_ms));
      await begin<undefined>(connect_ms, late, (done) =>
        client.open((error?: LinkError) => (error === undefined ? done(error) : end(error))),
      );
    },
    /** Rests for a device that wants it; rejects like a read. */
    pause: async (ms: Milliseconds): Promise<void> => {
      await begin<undefined>(
        ms,
        (done) => done(undefined),
        () => undefined,
      );
    },
    read: (unit: number, block: Block, within_ms = answer_ms) =>
      request<BlockAnswer>(within_ms, (answered) => {
        const next: Callback = (error, result) => answered(answerOf(block, error, result));
        reader[SEND[block.table]](unit, block.address, block.count, next);
      }),
    /** The answer's PDU, whatever it says, to a PDU that reads; another one ends the connection, unsent. */
    ask: (unit: number, pdu: ArrayLike<number>) =>
      request<Buffer>(answer_ms, (answered) => port.ask(unit, pdu, answered)),
  };
}

type Session = ReturnType<typeof modbusSession>;

function answerOf(block: Block, ...[error, result]: Parameters<Callback>): BlockAnswer | LinkError {
  if (typeof error?.modbusCode === "number") return { kind: "exception", code: error.modbusCode };
  // The port lets nothing through that modbus-serial could object to; if it does, the connection is not to be trusted.
  if (error !== null || result === undefined) return new LinkError("malformed", say("plc.odd.refused"), error);
  return isBitTable(block.table)
    ? { kind: "bits", bits: result.data as boolean[] }
    : { kind: "words", words: result.data as number[] };
}

/** Before the second of several connections that brought nothing, doubled with each: a device may allow one at a time, or few. */
const RENEW_MS: Milliseconds = 100;

/** A connection that can be made anew, until it is ended for good. */
export function renewing(makeSession: () => Session, connect_delay_ms: Milliseconds) {
  const life = new AbortController();
  let session = makeSession();
  let ended: LinkError | null = null;
  let renewed = 0;
  let renewals = 0;
  const open = async (): Promise<void> => {
    await session.open();
    if (connect_delay_ms > 0) await session.pause(connect_delay_ms);
  };
  return {
    open,
    /** The one that stands, or stood last. */
    session: () => session,
    /**
     * Makes it anew where it has ended; nothing is asked before `then` (monotonicMs()). Rejects with a LinkError.
     * @param isUsual the device closes connections like that, so the new one is no reason to ask which device answers
     */
    stand: async (then: number, isUsual = false): Promise<void> => {
      if (session.ended() === null) return;
      // Who let the time for an answer pass was given time.
      const pause = renewed === 0 || session.ended()?.kind === "timeout" ? 0 : RENEW_MS * 2 ** (renewed - 1);
      const wait = Math.max(pause, Math.ceil(then - monotonicMs()));
      renewed += 1;
      // What comes over the line meanwhile finds nobody.
      if (wait > 0) await delay(wait, undefined, { signal: life.signal }).catch(() => undefined);
      if (ended !== null) throw ended;
      session = makeSession();
      if (!isUsual) renewals += 1;
      await open();
    },
    /** It has brought a right answer. */
    proved: () => void (renewed = 0),
    /** Whether the one that stands was made after another had failed, and hasn't proved itself yet. */
    onTrial: () => renewed > 0,
    /** How often it was made anew. */
    renewals: () => renewals,
    /** For good; the first reason stays. */
    end: (error: LinkError): void => {
      ended ??= error;
      life.abort();
      session.end(error);
    },
    /** For good, after the request under way. */
    leave: (error: LinkError): void => {
      ended ??= error;
      life.abort();
      session.leave(error);
    },
    /** Why; null: it may be made anew. */
    ended: () => ended,
  };
}

export type Renewing = ReturnType<typeof renewing>;

type PortListener = (argument?: Buffer) => void;

/**
 * The number that modbus-serial files a request under and looks its answer up by. Always the same, so that it keeps one
 * finished request; the transaction ids of Modbus TCP are counted by the framing. modbus-serial itself begins with 1.
 */
export const LIBRARY_TRANSACTION = { _transactionIdRead: 1, _transactionIdWrite: 1 } as const;

/** What a connection needs of a line. */
type FramedWire = Pick<ModbusLine, "openWire" | "makeFraming">;

/**
 * The port that modbus-serial talks through instead of its own. Its TcpPort takes any answer for the request whose
 * number it happens to find, checks neither protocol id nor byte count, keeps 256 finished requests, and says nothing
 * of a reset; its RTU port looks for an answer at any offset of whatever has come in. Ours has what modbus-serial 8.0.25
 * expects, and `ask`; at most one request is under way, an answer is handed on only if every field fits it, and the first
 * byte that doesn't ends the connection.
 * @param onDown told once why the connection ended: by the peer, by a fault in the line, or by an answer that isn't one.
 * Not told of close and destroy, nor of a failed open.
 */
export function wirePort(line: FramedWire, onDown: (error: LinkError) => void) {
  const framing = line.makeFraming();
  let wire: Wire | null = null;
  let opening: ((error?: LinkError) => void) | null = null;
  let library: PortListener | null = null;
  /** Gets the answer to the request under way; null: modbus-serial does. */
  let asker: ((frame: Buffer) => void) | null = null;
  let open = false;

  const stop = (unanswered: boolean): void => {
    open = false;
    opening = null;
    wire?.destroy(unanswered);
    wire = null;
  };
  const fail = (error: LinkError): void => {
    const tell = opening ?? onDown;
    stop(true);
    tell(error);
  };
  const receive = (bytes: Buffer, count: number): void => {
    if (!open) return;
    const outcome = framing.take(bytes, count);
    if (outcome instanceof LinkError) fail(outcome);
    // Both copy the values out before they return, so the framing's buffer can be used again.
    else if (outcome !== null) (asker ?? library)?.(outcome);
  };
  const send = (request: Buffer, answered: typeof asker): void => {
    if (wire === null || !open) throw new LinkError("closed", say("plc.closed.not_open"));
    if (framing.awaiting) throw new LinkError("config", "a request is already under way");
    const bytes = framing.request(request);
    if (bytes === null)
      throw new LinkError("config", "only reads (functions 1 to 4, and 43 with MEI type 14) may be sent");
    asker = answered;
    wire.write(bytes);
  };

  return {
    ...LIBRARY_TRANSACTION,
    get isOpen(): boolean {
      return open;
    },
    /** Calls back once: connected, or the LinkError. */
    open(callback: (error?: LinkError) => void): void {
      opening = callback;
      const connected = (): void => {
        open = true;
        opening = null;
        callback();
      };
      wire = line.openWire({ connected, data: receive, down: fail });
    },
    /** Sends one read request, or one for the identification. Throws LinkError "config" for anything else: nothing but reads can leave. */
    write: (request: Buffer): void => send(request, null),
    /** Sends unit and PDU as `write` does, and throws as it does; `answered` gets the answer's PDU as it came, to keep. */
    ask(unit: number, pdu: ArrayLike<number>, answered: (pdu: Buffer) => void): void {
      // The CRC is the framing's business; what it takes has room for one.
      send(Buffer.from([unit, ...Array.from(pdu), 0, 0]), (frame) =>
        answered(Buffer.from(frame.subarray(1, frame.length - CRC_BYTES))),
      );
    },
    close(callback?: () => void): void {
      stop(framing.awaiting);
      callback?.();
    },
    /** `isOver`: the connection is of no use to others that share it. */
    destroy: (isOver = framing.awaiting): void => stop(isOver),
    on(event: string, listener: PortListener): void {
      if (event === "data") library = listener;
    },
    once(): void {
      // "close": the session is told through onDown, which says why as well.
    },
    removeListener(event: string, listener: PortListener): void {
      if (event === "data" && library === listener) library = null;
    },
  };
}
