import type { ReadBackDifference } from "./status.ts";
import type { DeviceFields, Reported } from "./service.ts";
import type { EpochMs, Serial } from "./units.ts";

const VERSIONS = ["firmware_version", "plc_program", "plc_program_revision", "last_active_mode"] as const;
const UPDATES = [
  ["last_firmware_update", "firmware_version"],
  ["last_program_update", "plc_program"],
] as const;

/**
 * Returns the fields that the service shows differently from the report. Values that were never read aren't in the report and count as
 * equal. Times are compared in whole seconds. The connectivity status is omitted, because the service derives it from the heartbeat.
 */
export function differencesOf(
  { reported, serial }: { readonly reported: Reported; readonly serial: Serial },
  shown: DeviceFields,
): readonly ReadBackDifference[] {
  const found: ReadBackDifference[] = [];
  if (shown.serial_number !== null && shown.serial_number !== serial)
    found.push({ field: "serial_number", reported: serial, shown: shown.serial_number });
  for (const field of VERSIONS) {
    if (reported[field] !== null && reported[field] !== shown[field])
      found.push({ field, reported: reported[field], shown: shown[field] });
  }
  for (const [field, of] of UPDATES) {
    const ours = secondOf(reported[field]);
    const theirs = secondOf(shown[field]);
    if (reported[of] !== null && ours !== theirs) found.push({ field, reported: ours, shown: theirs });
  }
  return found;
}

/** Returns the differences as text for people and for the log: each field with both values. */
export function differencesText(differences: readonly ReadBackDifference[]): string {
  return differences
    .map(({ field, reported, shown }) => `${field} ${String(shown ?? "nothing")} instead of ${String(reported)}`)
    .join(", ");
}

function secondOf(at: EpochMs | null): EpochMs | null {
  return at === null ? null : Math.floor(at / 1000) * 1000;
}
