export const LEVELS = ["document", "provisioning", "full"] as const;
export type Level = (typeof LEVELS)[number];

/** A message or request that a check sent or received, for the report. */
export interface Exchange {
  readonly sent: string;
  readonly received: string;
}

export interface Outcome {
  readonly id: string;
  readonly level: Level;
  readonly title: string;
  readonly place: string;
  readonly result: "pass" | "fail" | "not supported";
  /** The reason of a failure; "" otherwise. */
  readonly reason: string;
  readonly expected: string;
  readonly exchanges: readonly Exchange[];
  readonly took_ms: number;
}

/** A failed check. `expected`: the answer that the contract demands. */
export class Mismatch extends Error {
  readonly expected: string;
  constructor(reason: string, expected: string) {
    super(reason);
    this.expected = expected;
  }
}

/** The service doesn't offer what the check needs. */
export class Unsupported extends Error {}

/** Throws a Mismatch unless the condition holds. */
export function must(condition: boolean, reason: string, expected: string): asserts condition {
  if (!condition) throw new Mismatch(reason, expected);
}
