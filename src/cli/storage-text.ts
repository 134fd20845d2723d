import { missingText, type StorageStatus } from "../domain/status.ts";
import { lasting } from "./text.ts";

/** How full the store is, and what became of damage, as a line for people. */
export function storageText(storage: StorageStatus): string {
  const { used_bytes, max_bytes, hours_to_full, health } = storage;
  const missing = missingText(storage);
  const mb = (bytes: number): string => (bytes / 1_000_000).toFixed(1);
  const said = [
    `${mb(used_bytes)} of ${mb(max_bytes)} MB used`,
    ...(hours_to_full === null
      ? []
      : [`without the service full in ${lasting(Math.round(hours_to_full * 3_600_000))}`]),
    ...(missing === null ? [] : [`WARNING: ${missing}`]),
    ...(health.low ? ["STORAGE LOW: others fill the disk, the space kept back is used up; free some"] : []),
    ...(health.damaged_files.length === 0 ? [] : [`damaged files kept: ${health.damaged_files.join(", ")}`]),
  ];
  return said.join("; ");
}
