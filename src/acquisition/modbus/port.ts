import type { LinkError } from "../../domain/link-error.ts";

export type PortListener = (argument?: Buffer) => void;

/**
 * What modbus-serial 8.0.25 expects of a port, and no more; the members with an underscore and the shape of open, on,
 * once, removeListener are its own. Ours have at most one request under way, hand on an answer only if every field fits
 * it, and end the connection at the first byte that doesn't.
 */
export interface ModbusPort {
  _transactionIdRead: number;
  _transactionIdWrite: number;
  readonly isOpen: boolean;
  /** Calls back once: connected, or the LinkError. */
  open(callback: (error?: LinkError) => void): void;
  close(callback?: () => void): void;
  destroy(): void;
  /** Sends one read request, or one for the identification. Throws LinkError "config" for anything else: nothing but reads can leave. */
  write(request: Buffer): void;
  on(event: string, listener: PortListener): void;
  once(event: string, listener: PortListener): void;
  removeListener(event: string, listener: PortListener): void;
}

/**
 * @param onDown told once why the connection ended: by the peer, by a fault in the line, or by an answer that isn't one.
 * Not told of close and destroy, nor of a failed open.
 */
export type MakePort = (onDown: (error: LinkError) => void) => ModbusPort;
