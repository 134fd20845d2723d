import type { PollGaps } from "../acquisition/poll-gaps.ts";
import type { Milliseconds } from "../domain/units.ts";
import type { Store } from "../store/port.ts";

/** Eight chunks are read, and sent, in so long. */
const CHUNKS_MS: Milliseconds = 6;

/** The store, of which what waits for the service is read in room of its own and where no poll is due meanwhile. */
export function readInGaps<S extends Pick<Store, "chunks">>(
  store: S,
  gaps: Pick<PollGaps, "next">,
  needRoom: () => void,
): S {
  return {
    ...store,
    async chunks(...asked) {
      needRoom();
      await gaps.next(CHUNKS_MS);
      return store.chunks(...asked);
    },
  };
}
