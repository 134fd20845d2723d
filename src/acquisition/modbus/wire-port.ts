import { LinkError } from "../../domain/link-error.ts";
import type { Framing } from "./framing.ts";
import type { MakePort, PortListener } from "./port.ts";
import type { OpenWire, Wire } from "./wire.ts";

/**
 * The port that modbus-serial talks through instead of its own. Its TcpPort takes any answer for the request whose
 * number it happens to find, checks neither protocol id nor byte count, keeps 256 finished requests, and says nothing
 * of a reset; its RTU port looks for an answer at any offset of whatever has come in. modbus-serial always sees
 * transaction 1, so it keeps one finished request; the real transaction ids are counted by the framing.
 */
export function wirePort(openWire: OpenWire, framing: Framing): MakePort {
  return (onDown) => {
    let wire: Wire | null = null;
    let opening: ((error?: LinkError) => void) | null = null;
    let onAnswer: PortListener | null = null;
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
      // modbus-serial copies the values out before it returns, so the framing's buffer can be used again.
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
        if (framing.awaiting) throw new LinkError("config", "a request is already under way");
        const bytes = framing.request(request);
        if (bytes === null)
          throw new LinkError("config", "only reads (functions 1 to 4, and 43 with MEI type 14) may be sent");
        wire.write(bytes);
      },
      close(callback) {
        stop(framing.awaiting);
        callback?.();
      },
      destroy: () => stop(framing.awaiting),
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
  };
}
