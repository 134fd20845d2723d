import type { Text } from "../domain/message.ts";
import type { Milliseconds } from "../domain/units.ts";
import type { DeviceSession } from "./kept-sessions.ts";

/** The state of the listeners that serve the page. */
export interface PageState {
  /** The page's address on this machine; null: the port couldn't be opened, for the reason in `trouble`. */
  readonly url: string | null;
  readonly trouble: Text;
  /** The page's addresses on the network; null: it is not open there. */
  readonly lan: {
    /** The page's URL for each address of the box. */
    readonly urls: readonly string[];
    readonly port: number;
    /** SHA-256 fingerprint of the certificate, in pairs of hex digits. */
    readonly fingerprint: string;
    /** Remaining time until the page is closed on the network; null: it stays open. */
    readonly for_ms: Milliseconds | null;
  } | null;
  /** Remaining validity of the temporary PIN; null: no such PIN is valid. */
  readonly pin_for_ms: Milliseconds | null;
}

/** The access to the page on the network, as a signed-in device sees it. */
export interface PageNetwork {
  readonly always: boolean;
  /** The source of the decision: the configuration file, which takes precedence, or a person on the page. */
  readonly whose: "file" | "set_up";
  /** Whether a permanent PIN is set, which is printed on the box's label. */
  readonly has_pin: boolean;
  readonly urls: readonly string[];
  readonly devices: readonly DeviceSession[];
}
