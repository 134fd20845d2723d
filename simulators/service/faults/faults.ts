import { z } from "zod";
import { driftShape } from "./drift.ts";

const faultShape = z.object({
  /** "GET /api/booths/:id" as in the operations' table, "*" for all; or `topic`. */
  route: z.string().optional(),
  topic: z.enum(["up/batch", "up/chunk", "down/ack"]).optional(),
  /** Before the request is executed, or after it (and it has had its effect). */
  when: z.enum(["before", "after"]).default("before"),
  status: z.int().min(200).max(599).optional(),
  delay_ms: z.number().nonnegative().max(600_000).optional(),
  /** Error of the Date header. */
  date_skew_ms: z.number().optional(),
  /** The answer violates its contract. Requires when: "after". */
  drift: driftShape.optional(),
  /** The connection is cut instead of an answer. */
  reset: z.boolean().default(false),
  /** The answer stops in the middle. */
  truncate: z.boolean().default(false),
  /** The batch is committed, but its ack is never sent. */
  lose_ack: z.boolean().default(false),
  /** The ack is sent twice. */
  double_ack: z.boolean().default(false),
  /** Changed fields of the ack. "first" stands for the batch's first seq, "all" for a rejection of each record. */
  falsify: z.record(z.string(), z.unknown()).optional(),
  /** Only the first half of the batch's bytes arrives. */
  cut: z.boolean().default(false),
  /** A batch with a record of this name gets no answer. Other batches are unaffected. */
  swallow: z.string().optional(),
  /** Seconds or an HTTP date, as sent in Retry-After. */
  retry_after: z.string().optional(),
  /** Number of times that the fault occurs. */
  times: z.int().positive().default(1),
});

/** A planned fault; for tests only. */
export type Fault = z.infer<typeof faultShape>;

/** Faults that haven't occurred yet. The first match applies. */
export interface FaultPlan {
  /** Adds a fault. Throws a ZodError if its shape is wrong. */
  readonly add: (fault: unknown) => void;
  readonly clear: () => void;
  /** Number of faults that have occurred so far. */
  readonly struck: () => number;
  /** Returns the fault that applies to this request now, if any, and counts it. */
  readonly onRoute: (route: string, when: Fault["when"]) => Fault | undefined;
  readonly onTopic: (topic: string, when: Fault["when"]) => Fault | undefined;
}

export function faultPlan(): FaultPlan {
  const pending: { fault: Fault; left: number }[] = [];
  let struck = 0;
  const take = (matches: (fault: Fault) => boolean): Fault | undefined => {
    const index = pending.findIndex(({ fault }) => matches(fault));
    const entry = pending[index];
    if (entry === undefined) return undefined;
    entry.left -= 1;
    struck += 1;
    if (entry.left === 0) pending.splice(index, 1);
    return entry.fault;
  };
  return {
    add: (input) => {
      const fault = faultShape.parse(input);
      pending.push({ fault, left: fault.times });
    },
    clear: () => void pending.splice(0),
    struck: () => struck,
    onRoute: (route, when) => take((fault) => fault.when === when && (fault.route === route || fault.route === "*")),
    onTopic: (topic, when) => take((fault) => fault.when === when && fault.topic === topic),
  };
}
