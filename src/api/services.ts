import type { AgentControl, Rebuilds } from "../ports.ts";
import type { Desk } from "./desk.ts";
import type { AskReport } from "./report-route.ts";

/** One line of the agent's log, for people. */
export interface LogLine {
  readonly at: number;
  readonly level: "info" | "warn" | "error";
  readonly text: string;
}

/** Where reports for whoever helps are kept. */
export interface HelpBox {
  /** Returns its id. */
  store(report: string): Promise<string>;
}

/** What is known of the page's listeners. */
export interface PageState {
  /** On this machine; null: it couldn't be opened, `trouble` says why. */
  readonly url: string | null;
  readonly trouble: string;
  /** On the network, while it is open there. */
  readonly lan: LanState | null;
  /** How long the PIN in force still holds; null: there is none. */
  readonly pin_for_ms: number | null;
}

export interface LanState {
  readonly urls: readonly string[];
  /** SHA-256 of the certificate that browsers are shown, in pairs. */
  readonly fingerprint: string;
  readonly for_ms: number;
}

/** Opens and closes what people outside of the socket's group may use. */
export interface PageDoor {
  state(): PageState;
  /** A new PIN for `for_ms`; `lan`: and the page on the network for as long. Rejects where no port or certificate can be had. */
  open(how: {
    readonly for_ms: number;
    readonly lan: boolean;
    /** One set beforehand; absent: a new one. */
    readonly pin?: string;
  }): Promise<PageState & { readonly pin: string }>;
  close(): void;
}

/** What the local server answers from; what is absent answers 501. */
export interface MoreServices {
  readonly reports?: AskReport;
  readonly rebuilds?: Rebuilds;
  readonly desk?: Desk;
  readonly door?: PageDoor;
  readonly help?: HelpBox;
  /** Newest last. */
  readonly log?: () => readonly LogLine[];
}

export type Services = MoreServices & { readonly control: AgentControl };
