import Database from "better-sqlite3";
import { storePath } from "../../../src/store/open.ts";
import { rebuild } from "../../support/rebuild.ts";
import { writerIn } from "../../support/store.ts";

/**
 * Makes facts again that a bad bit took from a gateway's store, as somebody has it do who reads of damaged records in its status.
 * Until then its figures lack them, which it says; the service, which had them, needs no word. False: the log itself lacks records,
 * so the gateway refuses, or a full store has given up the state from which they could be folded, so it begins behind them: its
 * figures can't be what the service finds from all of them.
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
