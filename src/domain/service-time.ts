import type { EpochMs, Milliseconds } from "./units.ts";

/** Carries the service's own clock from its answers to whoever watches ours. */
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
  /** What the watch on the clocks found last. */
  verdict(): ClockVerdict;
}

/** What is to be said of the box's clock. */
export interface ClockVerdict {
  /**
   * False while no time source has confirmed the clock in this boot (the service then gets no records; outputs and notices continue),
   * while corrected time stands still, and while answers contradict it.
   */
  readonly synced: boolean;
  /** Corrected time minus wall clock; null: there is no time yet. */
  readonly offset_ms: Milliseconds | null;
}

/** How an answer of the service came: each way can go wrong by itself. */
export type Way = "http" | "ack";

/** What a sync earlier in this same boot gave. */
export interface KnownOffset {
  readonly offset: Milliseconds;
  /** Nobody had vouched for it yet. */
  readonly unsure: boolean;
}
