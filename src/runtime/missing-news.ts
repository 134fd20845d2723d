import { missingText, type StorageStatus } from "../domain/status.ts";
import type { Logger } from "../domain/machine.ts";

/** Warns of records that are missing in a booth's store: at the first commit after a start, and again whenever more are found. */
export function missingNews(log: Logger, booth: string): (storage: StorageStatus) => void {
  let told = 0;
  return (storage) => {
    const { quarantined, health, missing = [] } = storage;
    const text = missingText(storage);
    const isMore = quarantined > told;
    told = quarantined;
    if (!isMore || text === null) return;
    const kept =
      health.damaged_files.length === 0 ? "" : `; the damaged file is kept: ${health.damaged_files.join(", ")}`;
    log.warn({ event: "records_missing", booth, count: quarantined, seqs: missing }, `${booth}: ${text}${kept}`);
  };
}
