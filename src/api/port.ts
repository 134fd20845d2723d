import type { Milliseconds } from "../domain/units.ts";
import type { DeviceSession } from "./kept-sessions.ts";

/** What is known of the page's listeners. */
export interface PageState {
  /** On this machine; null: it couldn't be opened, `trouble` says why. */
  readonly url: string | null;
  readonly trouble: string;
  /** On the network, while it is open there. */
  readonly lan: {
    /** By each address of the box; empty: it has no network. */
    readonly urls: readonly string[];
    readonly port: number;
    /** SHA-256 of the certificate that browsers are shown, in pairs. */
    readonly fingerprint: string;
    /** null: it stays open. */
    readonly for_ms: Milliseconds | null;
  } | null;
  /** How long the PIN in force still holds; null: there is none. */
  readonly pin_for_ms: Milliseconds | null;
}

/** Whether the page stays open on the network. */
export interface PageNetwork {
  readonly always: boolean;
  /** Who said so: the configuration, which wins, or somebody on the spot. */
  readonly whose: "file" | "set_up";
  /** A PIN is set beforehand, as the box's label shows it. */
  readonly has_pin: boolean;
  readonly urls: readonly string[];
  readonly devices: readonly DeviceSession[];
}
