import type { BacklogStatus } from "../core/types/status.ts";
import type { Store } from "../ports.ts";
import type { BoothBoard } from "./board.ts";

/** What of a booth's log waits for the service, and since when the oldest of it does. */
export async function backlogOf(board: BoothBoard, store: Pick<Store, "read">): Promise<BacklogStatus> {
  const { newest_seq, acked_seq, stream } = board.info;
  const [oldest] = newest_seq > acked_seq ? await store.read(stream, acked_seq + 1, 1) : [];
  return {
    booth: board.booth,
    newest_seq,
    acked_seq,
    oldest_at: oldest?.time ?? null,
    hours_to_full: board.storage?.hours_to_full ?? null,
  };
}
