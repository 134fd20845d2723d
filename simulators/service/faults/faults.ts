import { z } from "zod";
import { driftShape } from "./drift.ts";

const faultShape = z.object({
  /** "GET /api/booths/:id" as in the operations' table, "*" for all; or `topic`. */
  route: z.string().optional(),
  topic: z.enum(["up/batch", "up/chunk", "down/ack"]).optional(),
  /** Before the request is carried out, or after it was (and its effect stands). */
  when: z.enum(["before", "after"]).default("before"),
  status: z.int().min(200).max(599).optional(),
  delay_ms: z.number().nonnegative().max(600_000).optional(),
  /** The Date header is off by so much. */
  date_skew_ms: z.number().optional(),
  /** The answer departs from its contract; goes with when: "after". */
  drift: driftShape.optional(),
  /** The connection is cut instead of an answer. */
  reset: z.boolean().default(false),
  /** The answer stops in the middle. */
  truncate: z.boolean().default(false),
  /** The batch is committed, its ack never sent. */
  lose_ack: z.boolean().default(false),
  /** The ack is sent twice. */
  double_ack: z.boolean().default(false),
  /** Fields of the ack that are something else; "first" stands for the batch's first seq, "all" for a refusal of each of its records. */
  falsify: z.record(z.string(), z.unknown()).optional(),
  /** Only the first half of the batch's bytes arrives. */
  cut: z.boolean().default(false),
  /** A batch that holds a record of this name vanishes without an answer; any other is let through. */
  swallow: z.string().optional(),
  /** Seconds or an HTTP date, as sent in Retry-After. */
  retry_after: z.string().optional(),
  /** How often it strikes. */
  times: z.int().positive().default(1),
});

/** A planned fault; for tests only. */
export type Fault = z.infer<typeof faultShape>;

/** Faults still to strike, first match first. */
export interface FaultPlan {
  /** Adds one; throws a ZodError on a bad shape. */
  readonly add: (fault: unknown) => void;
  readonly clear: () => void;
  /** How many have struck so far. */
  readonly struck: () => number;
  /** The fault that strikes this request now, if any; counts it. */
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
