import { openStoreFile } from "../../src/store/open.ts";
import { deriveFold } from "../../src/store/derive-fold.ts";
import { createWriter, type Writer } from "../../src/store/writer.ts";

/** The real writer on a real file, in this thread, with names and times that repeat. */
export function writerIn(folder: string): Writer {
  let count = 0;
  return createWriter({
    db: openStoreFile(folder),
    fold: deriveFold,
    now: () => 0,
    wall: () => count,
    uuid: () => `00000000-0000-4000-8000-${(++count).toString().padStart(12, "0")}`,
  });
}
