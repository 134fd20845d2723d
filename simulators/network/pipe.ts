import { setTimeout as delay } from "node:timers/promises";
import { isOver } from "../../src/domain/signal.ts";
import { spoil, type Spoiler } from "./spoil.ts";

/** An end of a line. */
export interface End {
  write(bytes: Buffer): void;
}

interface PipeOptions {
  readonly spoiler: Spoiler;
  readonly way: "requests" | "answers";
  readonly from: End;
  readonly to: End;
  readonly reset: () => void;
  /** Aborted when the line has ended and nothing more may be sent. */
  readonly over: AbortSignal;
}

/**
 * Returns a function that forwards the pieces of one direction of a line. Pieces keep their order, however long each is
 * delayed.
 */
export function pipe(options: PipeOptions): (bytes: Buffer) => void {
  const { spoiler, way, from, to, over } = options;
  let turn = Promise.resolve();
  const send = async (bytes: Buffer): Promise<void> => {
    const { pieces, echo, reset, delay_ms } = spoil(spoiler, bytes, way);
    if (delay_ms > 0) await delay(delay_ms, undefined, { signal: over });
    if (isOver(over)) return;
    if (reset) {
      options.reset();
      return;
    }
    if (echo !== null) from.write(echo);
    for (const [i, piece] of pieces.entries()) {
      // Waits a turn of the event loop between two pieces, so that they are sent separately.
      if (i > 0) await new Promise<void>((resolve) => setImmediate(resolve));
      if (!isOver(over)) to.write(piece);
    }
  };
  return (bytes) => {
    // Copies the bytes, because the reader may reuse the buffer.
    const copy = Buffer.from(bytes);
    turn = turn.then(() => send(copy)).catch(() => undefined); // the end of the line interrupts a delay
  };
}
