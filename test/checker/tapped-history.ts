import { fileURLToPath } from "node:url";
import { historyFile, lineHash, type Offered } from "../../simulators/fleet/history.ts";
import { linesOf } from "../../simulators/fleet/look-postgres.ts";
import { isChunk, parseMessage } from "../../simulators/service/ingest/chunk-message.ts";
import { unpack } from "../../simulators/service/ingest/unpack.ts";
import type { TappedPublish } from "../e2e/mqtt-tap.ts";

export const CHECKER = fileURLToPath(new URL("check.mjs", import.meta.url));

interface Ack {
  readonly st: string;
  readonly s0: number;
  readonly n: number;
  readonly error?: string;
  readonly conflict?: number | null;
  readonly reject?: readonly (number | readonly [number, ...unknown[]])[];
}

/** Returns the stream in an offer's payload. */
function streamOf(payload: Buffer): string {
  if (isChunk(payload)) {
    const chunk = parseMessage(payload);
    return "error" in chunk ? chunk.st : chunk.head.st;
  }
  const unpacked = unpack(payload);
  if ("error" in unpacked) throw new Error(`an offer cannot be read: ${unpacked.error}`);
  return (unpacked.batch as { st: string }).st;
}

/** Writes the offers and acks that a tap saw on the wire to a history file. */
export function writeHistory(file: string, publishes: readonly TappedPublish[]): void {
  const history = historyFile(file, "tap");
  const offers = new Map<string, Offered & { readonly id: string }>();
  for (const { direction, topic, payload } of publishes) {
    const [, , gateway = ""] = topic.split("/");
    if (direction === "up" && /\/up\/(batch|chunk)$/.test(topic)) {
      const lines = linesOf(payload);
      const stream = streamOf(payload);
      const offer = { gateway, stream, from: lines[0]?.seq ?? 0, hashes: lines.map(({ line }) => lineHash(line)) };
      offers.set(`${stream} ${offer.from} ${lines.length}`, { ...offer, id: history.offered(offer) });
    }
    if (direction !== "down" || !topic.endsWith("/down/ack")) continue;
    const { st, s0, n, error = "", conflict = null, reject = [] } = JSON.parse(payload.toString("utf8")) as Ack;
    if (error !== "" || conflict !== null) continue;
    // The checker reports an ack without an offer.
    const offer = offers.get(`${st} ${s0} ${n}`) ?? { id: "none", gateway, stream: st, from: s0, hashes: [] };
    const refused = reject.map((item) => (typeof item === "number" ? item : item[0]));
    history.acked(offer, s0 + n - 1, refused);
  }
}
