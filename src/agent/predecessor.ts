import type { ProvisioningEvent } from "../core/provisioning.ts";
import { labelOf } from "../core/stream-label.ts";
import type { ServiceApi } from "../ports.ts";
import type { BoothBoard } from "./board.ts";

/** A booth is taken over without the name of the stream before rather than not at all. */
const MAX_TRIES = 3;

interface PredecessorParts {
  readonly api: Pick<ServiceApi, "lastStream">;
  readonly board: BoothBoard;
}

/** Asks which stream of the booth the one of this gateway will follow; what came of it, as an event of the booth's provisioning. */
export async function predecessorAsked({ api, board }: PredecessorParts, key: string): Promise<ProvisioningEvent> {
  const { row, info } = board;
  const booth_id = row.record?.booth_id ?? null;
  if (booth_id === null) return { kind: "predecessor_known", predecessor: null };
  const answer = await api.lastStream(key, booth_id);
  if (answer.kind === "keep" && row.attempt < MAX_TRIES) return { kind: "claimed", answer };
  const last = answer.kind === "ok" ? answer.value.acked : null;
  const isOther = last !== null && last.stream_id !== labelOf(row, info).stream;
  return { kind: "predecessor_known", predecessor: isOther ? last : null };
}
