import type { StoreBudget } from "../../domain/storage.ts";
import { deriveFold } from "../facts/derive-fold.ts";
import { openIdentity, type IdentityFile } from "../identity/identity.ts";
import { keepStore, type KeptStore } from "./keeper.ts";
import { lockFolder } from "../lock.ts";

/** Both databases of a data folder, which belongs to this process until they are closed. */
export interface OpenedFolder {
  readonly store: KeptStore;
  readonly identity: IdentityFile;
  close(): void;
}

/** Where names come from, for what isn't there yet. */
export interface Names {
  readonly gateway: () => string;
  readonly stream: () => string;
}

/** Opens a data folder. Throws FolderInUse; else as keepStore and openIdentity do, and then nothing is left open. */
export function openFolder(dataDir: string, budget: StoreBudget, names: Names): OpenedFolder {
  const lock = lockFolder(dataDir);
  const opened = [(): void => lock.release()];
  const closeAll = (): void => {
    for (const close of opened.toReversed()) close();
  };
  try {
    const clocks = { now: () => performance.now(), wall: () => Date.now() };
    const store = keepStore({ dataDir, fold: deriveFold, uuid: names.stream, ...clocks, budget });
    opened.push(() => store.abandon());
    const identity = openIdentity(dataDir, names.gateway);
    const close = (): void => {
      store.close();
      identity.close();
      lock.release();
    };
    const openStream: KeptStore["openStream"] = (booth) => {
      const info = store.openStream(booth);
      identity.noteOrigin({ stream: info.stream, booth, created_at: Date.now() });
      return info;
    };
    return { store: { ...store, openStream }, identity, close };
  } catch (error) {
    closeAll();
    throw error;
  }
}
