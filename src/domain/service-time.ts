import type { EpochMs, Milliseconds } from "./units.ts";

/** Passes the time in the service's answers to the code that checks the gateway's clock. */
export interface ServiceTime {
  /**
   * Reports that the service stated `time` in an answer. The request was sent at mono `sent`, and the answer arrived at `received`. To be
   * called only if the channel proves the service's identity: verified TLS, or loopback. An exchange of 5 s or more is ignored.
   */
  heard(answer: {
    readonly source: TimeSource;
    readonly time: EpochMs;
    readonly sent: Milliseconds;
    readonly received: Milliseconds;
  }): void;
  /** Returns the newest result of the clock check. */
  verdict(): ClockVerdict;
}

/** The state of the gateway's clock, for people. */
export interface ClockVerdict {
  /**
   * False while no time source has confirmed the clock in this boot. The service then gets no records, but outputs and notices continue.
   * Also false while corrected time stands still, and while time sources contradict it.
   */
  readonly synced: boolean;
  /** Corrected time minus wall clock; null: no time is known yet. */
  readonly offset_ms: Milliseconds | null;
}

/** The channel over which the service's time arrived. Each channel can be wrong independently. */
export type TimeSource = "http" | "ack";

/** The clock offset set by an earlier clock sync in the same boot. */
export interface KnownOffset {
  readonly offset: Milliseconds;
  /** Whether a second source had not yet confirmed the clock at that sync. */
  readonly unsure: boolean;
}
