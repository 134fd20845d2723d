import { appendFileSync, statSync } from "node:fs";
import { hash } from "node:crypto";
import type { Placed } from "../../src/domain/record.ts";
import { canonical, contentLine } from "../service/ingest/canonical.ts";

/** Maximum size of a history file: about 20 million records. */
const MAX_HISTORY_BYTES = 400_000_000;
/** Number of hex digits of a record's hash. */
const DIGITS = 16;

export interface Offered {
  readonly gateway: string;
  readonly stream: string;
  readonly from: number;
  /** Hashes of the records from `from` on, without gaps. */
  readonly hashes: readonly string[];
}

/** Appends all offers and acks to a file of JSON lines, which `test/checker/check.mjs` judges. */
export interface History {
  /** Notes an offer before it is sent. Returns its id. */
  offered(offer: Offered): string;
  /** Notes that the service acked the seqs from `from` to `to` of an offer, except those that it refused. */
  acked(offer: Offered & { readonly id: string }, to: number, refused: readonly number[]): void;
}

/**
 * @param writer a name that no other process or thread uses for the same file, because it is a part of the offers' ids
 */
export function historyFile(file: string, writer: string): History {
  let next = 0;
  let size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  const write = (entry: object): void => {
    if (size > MAX_HISTORY_BYTES) return;
    const line = `${JSON.stringify({ t: Date.now(), ...entry })}\n`;
    size += line.length;
    appendFileSync(file, size > MAX_HISTORY_BYTES ? '{"full":true}\n' : line);
  };
  return {
    offered(offer) {
      const id = `${writer}-${(next += 1)}`;
      write({ ...offer, offer: id });
      return id;
    },
    acked({ id, gateway, stream, from }, to, refused) {
      write({ gateway, stream, ack: id, from, to, refused });
    },
  };
}

/** Returns the hash of a record's line. */
export function lineHash(line: string): string {
  return hash("sha256", line).slice(0, DIGITS);
}

export function recordHash(record: Placed): string {
  return lineHash(contentLine({ ...record, value: canonical(record.value) }));
}
