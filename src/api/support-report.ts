import type { LogLine, Services } from "./services.ts";

/**
 * What whoever helps may see: status, counts, what the PLC said last, the newest log lines. All of it by name; none of these
 * types has a field for a secret.
 */
export function supportReport({ control, log }: Services): {
  readonly status: unknown;
  readonly counts: unknown;
  readonly readings: Readonly<Record<string, unknown>>;
  readonly log: readonly LogLine[];
} {
  const status = control.status();
  return {
    status,
    counts: control.counts(),
    readings: Object.fromEntries(status.booths.map(({ booth }) => [booth, control.readings(booth)])),
    log: log?.() ?? [],
  };
}
