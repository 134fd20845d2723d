import { LinkError } from "../../src/domain/link-error.ts";
import type { Driver } from "../../src/acquisition/port.ts";
import type { Sample } from "../../src/domain/taken.ts";

/** Long enough for a slow machine, short beside the suite's time-out. */
export const ANSWER_MS = 10_000;
/** Where the deadline itself is the subject. */
export const SHORT_MS = 150;

/** A signal that is never aborted. */
export const never = new AbortController().signal;

/** The LinkError that a promise rejects with; anything else fails the test. */
export async function failure(promise: Promise<unknown>): Promise<LinkError> {
  const error: unknown = await promise.then(
    () => new Error("it resolved"),
    (reason: unknown) => reason,
  );
  if (error instanceof LinkError) return error;
  throw new Error("not a LinkError", { cause: error });
}

/** What a read of that group alone gives. */
export async function readGroup(driver: Driver, group: string): Promise<readonly Sample[]> {
  return (await driver.read([group])).get(group) ?? [];
}

export const values = (samples: readonly Sample[]): unknown[] => samples.map(({ value }) => value);
