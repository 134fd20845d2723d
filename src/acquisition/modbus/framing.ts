import type { LinkError } from "../../domain/link-error.ts";

/** How requests and answers stand in the bytes of a connection. */
export interface Framing {
  /** A request is under way. */
  readonly awaiting: boolean;
  /**
   * Takes a read request as modbus-serial writes it (RTU with CRC); gives what goes over the wire, null for anything but
   * the four functions that read and the identification (43/14): this is what makes the driver read-only.
   */
  request(request: Buffer): Buffer | null;
  /**
   * Takes what has arrived. Null: not whole yet. Else the answer as modbus-serial wants it, RTU with CRC, valid until the
   * next call.
   */
  take(bytes: Buffer, count: number): Buffer | LinkError | null;
}
