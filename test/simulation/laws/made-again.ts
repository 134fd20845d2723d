import Database from "better-sqlite3";
import { storePath } from "../../../src/store/open.ts";
import { rebuild } from "../../support/rebuild.ts";
import { writerIn } from "../../support/store.ts";

/**
 * Rebuilds facts that a flipped bit destroyed in a gateway's store, like a user who sees damaged records in the status.
 * Until then the gateway's figures lack these facts. Returns false if the facts can't be rebuilt: the log itself lacks
 * records, or a full store has dropped the state to start from.
 */
export function isMadeAgain(folder: string): boolean {
  const lost = firstQuarantined(folder);
  if (lost === null) return true;
  const writer = writerIn(folder);
  try {
    return lost >= rebuild(writer, writer.openStream("booth-1").stream).from_seq;
  } catch (error) {
    if (error instanceof Error && error.message.includes("were damaged in the store")) return false;
    throw error;
  } finally {
    writer.close();
  }
}

function firstQuarantined(folder: string): number | null {
  const db = new Database(storePath(folder), { readonly: true });
  try {
    return db.prepare<[], number | null>("SELECT min(from_seq) FROM quarantine").pluck().get() ?? null;
  } finally {
    db.close();
  }
}
