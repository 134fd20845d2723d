import { statSync } from "node:fs";
import type { StoreReader } from "../ports.ts";
import type { Fold } from "./fold-port.ts";
import { storePath } from "./open.ts";
import { openReader, type OpenReader } from "./reader.ts";

/** A reader that goes along when the store's file is replaced by a new one, as after a salvage. */
export interface FollowingReader {
  /** As OpenReader.snapshot, on the file that is the store now. */
  snapshot<T>(act: (reader: StoreReader) => T): T;
}

/** Throws at use where there is no store. */
export function followReader(dataDir: string, fold: Fold): FollowingReader {
  let open: { readonly reader: OpenReader; readonly file: number } | null = null;
  return {
    snapshot(act) {
      const path = storePath(dataDir);
      const file = statSync(path, { throwIfNoEntry: false })?.ino;
      if (file === undefined) throw new Error(`can't open ${path}: there is no such file`);
      if (open?.file !== file) {
        open?.reader.close();
        open = { reader: openReader(dataDir, fold), file };
      }
      const { reader } = open;
      return reader.snapshot(() => act(reader));
    },
  };
}
