import { adviceFor } from "../core/advice.ts";
import type { LinkError } from "../core/link-error.ts";
import type { LinkStatus, Trouble } from "../core/types/status.ts";
import type { Milliseconds } from "../core/types/units.ts";
import { stillDown } from "./board.ts";
import type { LinkBoothParts, LinkTools } from "./link-parts.ts";

/** What people are told of a booth's link: its status at every change, and a line in the log where it matters. */

/** A poll was answered. `trouble`: why that isn't all that it should be; null: it is. */
export function tellAnswering(
  { clock, log }: LinkTools,
  parts: LinkBoothParts,
  { trouble, started }: { readonly trouble: Trouble | null; readonly started: Milliseconds },
): void {
  const { booth, address } = parts;
  const before = parts.status();
  if (before.kind === "down") {
    const took_ms = clock.mono() - started;
    log.info({ event: "plc_up", booth, address, took_ms }, `${booth}: PLC answers at ${address}`);
  }
  const now = clock.wall();
  if (trouble === null) {
    if (before.kind === "up") return;
    parts.setStatus({ kind: "up", since: now });
    if (before.kind === "degraded") log.info({ event: "plc_well", booth }, `${booth}: all of the PLC is read again`);
    return;
  }
  if (isSame(before, trouble)) return;
  parts.setStatus({ kind: "degraded", since: now, ...trouble });
  const { reason, advice } = trouble;
  log.warn({ event: "plc_degraded", booth, address, reason }, `${booth}: PLC at ${address}: ${reason}; ${advice}`);
}

function isSame(before: LinkStatus, { reason }: Trouble): boolean {
  return before.kind === "degraded" && before.reason === reason;
}

/** It failed, and is tried again after `wait`. */
export function tellDown(
  { clock, log }: LinkTools,
  parts: LinkBoothParts,
  failure: { readonly error: LinkError; readonly attempt: number; readonly wait: Milliseconds },
): void {
  const { error, attempt, wait } = failure;
  const now = clock.wall();
  const before = parts.status();
  parts.intake.unanswered(Object.keys(parts.groups));
  const down = {
    kind: "down",
    since: now,
    reason: error.message,
    advice: adviceFor(error.kind),
    attempt,
    next_try_at: now + wait,
  } as const;
  parts.setStatus(stillDown(before, down));
  if (before.kind !== "down" || attempt === 1) {
    log.warn(
      { event: "plc_down", booth: parts.booth, address: parts.address, kind: error.kind },
      `${parts.booth}: PLC at ${parts.address}: ${error.message}; ${down.advice}`,
    );
  }
}
