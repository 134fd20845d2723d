import { LinkError } from "../../core/link-error.ts";
import { makeInbox } from "./inbox.ts";
import { expectedAnswer, frameRequest } from "./mbap.ts";
import type { OpenWire, Wire } from "./wire.ts";

/**
 * The port that modbus-serial talks through instead of its own TcpPort, which takes any answer for the request whose
 * number it happens to find, checks neither protocol id nor byte count, keeps 256 finished requests, and says nothing
 * of a reset. This one has at most one request under way, hands on an answer only if every field fits it, and ends the
 * connection at the first byte that doesn't. modbus-serial always sees transaction 1, so it keeps one finished
 * request; the real transaction ids are counted here.
 *
 * The members with an underscore and the shape of open, on, once, removeListener are what modbus-serial 8.0.25
 * expects of a port.
 */
export interface MbapPort {
  _transactionIdRead: number;
  _transactionIdWrite: number;
  readonly isOpen: boolean;
  /** Calls back once: connected, or the LinkError. */
  open(callback: (error?: LinkError) => void): void;
  close(callback?: () => void): void;
  destroy(): void;
  /** Sends one read request. Throws LinkError "config" for anything else: nothing but reads can leave. */
  write(request: Buffer): void;
  on(event: string, listener: Listener): void;
  once(event: string, listener: Listener): void;
  removeListener(event: string, listener: Listener): void;
}

type Listener = (argument?: Buffer) => void;

const MAX_TRANSACTION = 0xffff;

/**
 * @param onDown told once why the connection ended: by the peer, by a fault in the line, or by an answer that isn't one.
 * Not told of close and destroy, nor of a failed open.
 */
export function mbapPort(openWire: OpenWire, onDown: (error: LinkError) => void): MbapPort {
  const inbox = makeInbox();
  let transaction = 0;
  let wire: Wire | null = null;
  let opening: ((error?: LinkError) => void) | null = null;
  let onAnswer: Listener | null = null;
  let open = false;

  const stop = (): void => {
    open = false;
    opening = null;
    wire?.destroy();
    wire = null;
  };
  const fail = (error: LinkError): void => {
    const tell = opening ?? onDown;
    stop();
    tell(error);
  };
  const receive = (bytes: Buffer, count: number): void => {
    if (!open) return;
    const outcome = inbox.take(bytes, count);
    if (outcome instanceof LinkError) fail(outcome);
    // modbus-serial copies the values out before it returns, so the inbox can be used again.
    else if (outcome !== null) onAnswer?.(outcome);
  };

  return {
    _transactionIdRead: 1,
    _transactionIdWrite: 1,
    get isOpen() {
      return open;
    },
    open(callback) {
      opening = callback;
      const connected = (): void => {
        open = true;
        opening = null;
        callback();
      };
      wire = openWire({ connected, data: receive, down: fail });
    },
    write(request) {
      if (wire === null || !open) throw new LinkError("closed", "the connection is not open");
      if (inbox.awaiting) throw new LinkError("config", "a request is already under way");
      const next = (transaction % MAX_TRANSACTION) + 1;
      const answer = expectedAnswer(request, next);
      if (answer === null) throw new LinkError("config", "only reads (functions 1 to 4) may be sent");
      transaction = next;
      inbox.expect(answer);
      wire.write(frameRequest(request, transaction));
    },
    close(callback) {
      stop();
      callback?.();
    },
    destroy: stop,
    on(event, listener) {
      if (event === "data") onAnswer = listener;
    },
    once() {
      // "close": the session is told through onDown, which says why as well.
    },
    removeListener(event, listener) {
      if (event === "data" && onAnswer === listener) onAnswer = null;
    },
  };
}
