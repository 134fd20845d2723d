import modbus from "modbus-serial";

import { LinkError } from "../../domain/link-error.ts";
import type { BlockData } from "../rules/decode.ts";
import type { Block } from "../rules/plan.ts";
import type { ModbusTable } from "../../domain/profile.ts";
import type { Milliseconds } from "../../domain/units.ts";
import { oneAtATime, overdue } from "./one-at-a-time.ts";
import type { MakePort } from "./port.ts";

/** What a device said to one request: data, or a Modbus exception. */
export type BlockAnswer = BlockData | { readonly kind: "exception"; readonly code: number };

export interface SessionOptions {
  readonly makePort: MakePort;
  readonly unitId: number;
  /** Until connected. */
  readonly connect_ms: Milliseconds;
  /** From a request to the last byte of its answer. */
  readonly answer_ms: Milliseconds;
}

/**
 * One connection: opened once, ended once, one request at a time. Every promise settles: with an answer, or with a
 * LinkError at the deadline, at the peer's close, at the first wrong byte, or when `end` is called.
 */
export interface Session {
  open(): Promise<void>;
  /** @param within_ms absent: `answer_ms` */
  read(block: Block, within_ms?: Milliseconds): Promise<BlockAnswer>;
  /** Rests for a device that wants it; rejects like a read. */
  pause(ms: Milliseconds): Promise<void>;
  /** Why it ended; null: it hasn't. */
  ended(): LinkError | null;
  /** Ends the connection; what is pending rejects with `error`, and so does everything after. The first reason stays. */
  end(error: LinkError): void;
}

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

export function modbusSession(options: SessionOptions): Session {
  const line = oneAtATime<BlockAnswer | null>(() => port.destroy());
  const { begin, done, end } = line;
  const port = options.makePort(end);
  const client = new modbus.default(port);
  const reader = client as unknown as Reader;

  return {
    end,
    ended: line.ended,
    open: async () => {
      const connected = (error?: LinkError): void => {
        if (error === undefined) done(null);
        else end(error);
      };
      await begin(
        options.connect_ms,
        () => end(overdue("connection", options.connect_ms)),
        () => client.open(connected),
      );
    },
    pause: async (ms) => {
      await begin(
        ms,
        () => done(null),
        () => undefined,
      );
    },
    read: async (block, within_ms = options.answer_ms) => {
      if (line.ended() === null && !port.isOpen) throw new LinkError("closed", "the connection is not open");
      const answered: Callback = (error, result) => {
        const answer = answerOf(block, error, result);
        if (answer instanceof LinkError) end(answer);
        else done(answer);
      };
      let waits = true;
      // What has arrived by the deadline counts, where this process was held up longer than the device took to answer.
      const overdueSoon = (): void => void setImmediate(() => (waits ? end(overdue("answer", within_ms)) : undefined));
      const answer = await begin(within_ms, overdueSoon, () => {
        try {
          reader[SEND[block.table]](options.unitId, block.address, block.count, answered);
        } catch (cause) {
          end(cause instanceof LinkError ? cause : new LinkError("config", "the request can't be sent", cause));
        }
      }).finally(() => (waits = false));
      if (answer === null) throw new LinkError("malformed", "no answer"); // a read is never resolved without one
      return answer;
    },
  };
}

function answerOf(
  block: Block,
  error: Parameters<Callback>[0],
  result: Parameters<Callback>[1],
): BlockAnswer | LinkError {
  if (typeof error?.modbusCode === "number") return { kind: "exception", code: error.modbusCode };
  // The port lets nothing through that modbus-serial could object to; if it does, the connection is not to be trusted.
  if (error !== null || result === undefined) return new LinkError("malformed", "refused by modbus-serial", error);
  return block.table === "coil" || block.table === "discrete"
    ? { kind: "bits", bits: result.data as boolean[] }
    : { kind: "words", words: result.data as number[] };
}
