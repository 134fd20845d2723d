import { LinkError } from "../domain/link-error.ts";
import { nextPoll } from "./rules/schedule.ts";
import type { Milliseconds } from "../domain/units.ts";
import { isOver } from "../domain/signal.ts";
import { linkBooth, type LinkBooth, type LinkBoothParts, type LinkTools } from "./link-booth.ts";
import { LOOP_MS, type CameRound } from "../domain/pulse.ts";
import type { SharedLink } from "./share.ts";

export interface LinkParts extends LinkTools {
  /** Those that the link serves, in turn. */
  readonly booths: readonly LinkBoothParts[];
  /** The longest that a device which doesn't answer keeps the link busy. */
  readonly probe_ms: () => Milliseconds;
  /** The first attempt is made so much later. */
  readonly begins_in: Milliseconds;
  /** What tools want over the link between polls; absent: it isn't lent. */
  readonly visits?: SharedLink | undefined;
  /** Absent: nobody watches over the loop. */
  readonly turned?: CameRound;
  /** Told when the next poll is due, in monotonic time. */
  readonly due?: (at: Milliseconds) => void;
}

/**
 * Owns one physical link: connects, polls each booth's groups in their turn, and makes anew what failed. Returns when
 * aborted.
 */
export async function linkLoop(parts: LinkParts, signal: AbortSignal): Promise<void> {
  const { clock } = parts;
  const booths = parts.booths.map((booth) => linkBooth(parts, booth, parts.begins_in));
  try {
    while (!isOver(signal)) {
      const turns = booths.map((booth) => booth.turns());
      const turn = nextPoll(turns, clock.mono(), parts.probe_ms());
      const booth = booths[turn?.booth ?? -1];
      if (turn === undefined || booth === undefined) throw new LinkError("config", "no booth has a poll group");
      const wait = turn.at - clock.mono();
      parts.turned?.(Math.max(0, wait) + LOOP_MS);
      parts.due?.(turn.at);
      if ((await pause(parts, wait, signal)) === "visited") continue;
      if (isOver(signal)) break;
      if (turn.group !== null) parts.booths[turn.booth]?.watch?.began(Math.max(0, clock.mono() - turn.at));
      await take(booths, booth, { group: turn.group, signal });
    }
  } finally {
    parts.visits?.close();
    await Promise.all(booths.map((booth) => booth.close()));
  }
}

/** Until the next turn; or until a tool was there: others' turns may have come meanwhile. */
async function pause(
  { clock, visits }: LinkParts,
  wait: Milliseconds,
  signal: AbortSignal,
): Promise<"visited" | "due"> {
  const until = clock.mono() + wait;
  if (visits === undefined) {
    if (wait > 0) await clock.sleep(wait, signal).catch(() => undefined);
    return "due";
  }
  const served = await visits.serve(Math.max(0, wait));
  if (!served && wait > 0) await visits.rest(wait, signal);
  return wait > 0 && clock.mono() < until ? "visited" : "due";
}

/** A link that can't be opened is so for every booth that waits for it: they are told, and tried again, together. */
async function take(
  booths: readonly LinkBooth[],
  booth: LinkBooth,
  turn: { readonly group: string | null; readonly signal: AbortSignal },
): Promise<void> {
  const failure = await booth.take(turn.group, turn.signal);
  if (failure === null || !failure.opening) return;
  for (const other of booths) {
    if (other !== booth && other.turns().retry_at !== null) other.failed(failure.error, failure.wait);
  }
}
