import type { EpochMs, Milliseconds } from "./units.ts";

/** Passes the service's time from its answers to the watch on the gateway's clock. */
export interface ServiceTime {
  /**
   * The service said `time` in an answer to what was sent at mono `sent` and came back at `received`. Only over a way that
   * proves the service: verified TLS, or loopback. An exchange that took 5 s or more says nothing and is left aside.
   */
  heard(answer: {
    readonly way: Way;
    readonly time: EpochMs;
    readonly sent: Milliseconds;
    readonly received: Milliseconds;
  }): void;
  /** The newest result of the clock watch. */
  verdict(): ClockVerdict;
}

/** The state of the gateway's clock, for people. */
export interface ClockVerdict {
  /**
   * False while no time source has confirmed the clock in this boot (the service then gets no records; outputs and notices continue),
   * while corrected time stands still, and while answers contradict it.
   */
  readonly synced: boolean;
  /** Corrected time minus wall clock; null: there is no time yet. */
  readonly offset_ms: Milliseconds | null;
}

/** The channel of a service's answer. Each channel can be wrong independently. */
export type Way = "http" | "ack";

/** The clock offset of an earlier sync in the same boot. */
export interface KnownOffset {
  readonly offset: Milliseconds;
  /** No second source had confirmed the clock at that sync. */
  readonly unsure: boolean;
}
