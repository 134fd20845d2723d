import { openStoreFile } from "../../src/store/open.ts";
import { deriveFold } from "../../src/store/facts/derive-fold.ts";
import type { Fold } from "../../src/store/facts/fold-port.ts";
import { createWriter, type Writer } from "../../src/store/thread/writer.ts";

/** The real writer on a real file, in this thread, with names and times that repeat. */
export function writerIn(folder: string, fold: Fold = deriveFold): Writer {
  let count = 0;
  return createWriter({
    db: openStoreFile(folder),
    fold,
    now: () => 0,
    wall: () => count,
    uuid: () => `00000000-0000-4000-8000-${(++count).toString().padStart(12, "0")}`,
  });
}
