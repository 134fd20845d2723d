import type { Text } from "../domain/message.ts";
import type { Milliseconds } from "../domain/units.ts";
import type { DeviceSession } from "./kept-sessions.ts";

/** The state of the page's listeners. */
export interface PageState {
  /** On this machine; null: it couldn't be opened, for the reason in `trouble`. */
  readonly url: string | null;
  readonly trouble: Text;
  /** On the network, while it is open there. */
  readonly lan: {
    /** The page's URL at each address of the box. */
    readonly urls: readonly string[];
    readonly port: number;
    /** SHA-256 of the certificate, in pairs of digits. */
    readonly fingerprint: string;
    /** null: it stays open. */
    readonly for_ms: Milliseconds | null;
  } | null;
  /** Remaining time of the temporary PIN; null: no PIN is valid. */
  readonly pin_for_ms: Milliseconds | null;
}

/** Whether the page stays open on the network. */
export interface PageNetwork {
  readonly always: boolean;
  /** The source of the decision: the configuration, which wins, or a person on the page. */
  readonly whose: "file" | "set_up";
  /** A permanent PIN is set, as the box's label shows it. */
  readonly has_pin: boolean;
  readonly urls: readonly string[];
  readonly devices: readonly DeviceSession[];
}
