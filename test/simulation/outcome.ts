import type { Booth } from "../../simulators/plc/model/booth.ts";
import type { Truth } from "../../simulators/plc/model/truth.ts";
import type { Window } from "../../src/store/port.ts";
import type { VirtualService } from "../support/virtual-service.ts";
import type { Fault, Story } from "./story.ts";

/** The span [start, end) in epoch ms of true time. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A finished story: its truth in the PLC and its result at the service. */
export interface Outcome {
  readonly story: Story;
  /** From the story's start to the end of its hours. Every record in it is delivered, or never will be. */
  readonly window: Window;
  /** The truth of the model over the window: stages, cycles, filters, counters, outages. */
  readonly truth: Truth;
  /** The PLC itself: its state with its counters at any instant (`stateAt`). */
  readonly booth: Booth;
  /** The reference service: its tables (`db`) and its answers (`get`). The booth there is "b-1". */
  readonly service: Pick<VirtualService, "db" | "get" | "facility">;
  /**
   * True instants of the answered polls of the mode's group that no power cut may have destroyed, in order. Between two
   * of them only the first one's value is known.
   */
  readonly polls: readonly number[];
  /** Spans of boots without a confirmed time: the order of their readings is known, but not their times. */
  readonly unsure: readonly Span[];
  /** The spans in which faults were active. A fault without a length has the same start and end. */
  readonly spans: readonly (Span & { readonly fault: Fault })[];
}
