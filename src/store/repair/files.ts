import { chmodSync, existsSync, mkdirSync, statSync } from "node:fs";
import Database from "better-sqlite3";
import type { StoreFiles, StoreMade } from "../port.ts";
import { exportStore, isExport, rowsOfExport } from "./export.ts";
import { inspectStore } from "./inspect.ts";
import { lockFolder } from "../lock.ts";
import { storePath } from "../open.ts";
import { recover } from "./recover.ts";
import { finishReplacing, freshPath, readyFresh, syncFile } from "./replace.ts";
import { salvage, storeOf } from "./salvage.ts";

/** Pages copied between two words of progress. */
const BACKUP_PAGES = 512;

/** Work on whole stores, for the command line. `wall` dates what is made. */
export function storeFiles(wall: () => number): StoreFiles {
  return {
    check: (dataDir, progress) => {
      mustExist(storePath(dataDir), "there is no store");
      return inspectStore(dataDir, progress);
    },
    salvage: (dataDir, progress) => {
      mustExist(storePath(dataDir), "there is no store");
      return alone(dataDir, () => recover(dataDir, { wall, progress }, "asked for"));
    },
    export: (dataDir, file, progress) => {
      mustExist(storePath(dataDir), "there is no store");
      mustBeFree(file);
      return exportStore(dataDir, file, progress);
    },
    import: (dataDir, file, progress) => {
      mustExist(file, "there is no file");
      return alone(dataDir, () => {
        const fresh = freshPath(dataDir);
        const made = isExport(file)
          ? storeOf(rowsOfExport(file, progress), fresh, { wall })
          : salvage(file, fresh, { wall, progress });
        if (made.streams.length === 0)
          throw new Error(`nothing in ${file} is a store's: it is no export and no backup`);
        readyFresh(dataDir);
        return { ...made, aside: finishReplacing(dataDir, true) };
      });
    },
    async backup(dataDir, file, progress) {
      mustExist(storePath(dataDir), "there is no store");
      mustBeFree(file);
      const db = new Database(storePath(dataDir), { readonly: true, fileMustExist: true });
      try {
        await db.backup(file, {
          progress: ({ totalPages, remainingPages }) => {
            progress(totalPages - remainingPages, totalPages);
            return BACKUP_PAGES;
          },
        });
      } finally {
        db.close();
      }
      chmodSync(file, 0o600);
      syncFile(file);
      return { file, bytes: statSync(file).size };
    },
  };
}

/** No agent may run: it would go on writing the file that is replaced. */
function alone(dataDir: string, act: () => StoreMade): StoreMade {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const lock = lockFolder(dataDir);
  try {
    return act();
  } finally {
    lock.release();
  }
}

function mustExist(file: string, what: string): void {
  if (!existsSync(file)) throw new Error(`${what} at ${file}`);
}

function mustBeFree(file: string): void {
  if (existsSync(file)) throw new Error(`${file} is there already: name another file, or remove it`);
}
