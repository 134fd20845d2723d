import { LinkError } from "../../src/domain/link-error.ts";
import type { Driver } from "../../src/acquisition/port.ts";
import type { Sample } from "../../src/domain/taken.ts";

/** Long enough for a slow machine, and shorter than the timeout of a test. */
export const ANSWER_MS = 10_000;
/** Deadline for tests that wait for it. */
export const SHORT_MS = 150;

/** A signal that is never aborted. */
export const never = new AbortController().signal;

/** Returns the LinkError with which a promise rejects. Any other result fails the test. */
export async function failure(promise: Promise<unknown>): Promise<LinkError> {
  const error: unknown = await promise.then(
    () => new Error("it resolved"),
    (reason: unknown) => reason,
  );
  if (error instanceof LinkError) return error;
  throw new Error("not a LinkError", { cause: error });
}

/** Reads a single group and returns its samples. */
export async function readGroup(driver: Driver, group: string): Promise<readonly Sample[]> {
  return (await driver.read([group])).get(group) ?? [];
}

export const values = (samples: readonly Sample[]): unknown[] => samples.map(({ value }) => value);
