import { doubtAfter, isBelieved, nextForkAt } from "./rules/fork.ts";
import { type HeldSeqs, isPlain } from "../domain/provisioning.ts";
import { afterRefusal } from "./rules/refusing.ts";
import type { NewName } from "../domain/stream-label.ts";
import type { Seq } from "../domain/units.ts";
import type { Clock, Logger } from "../domain/machine.ts";
import type { Refusal, Store } from "../store/port.ts";
import { forkedTrouble, waitingTrouble } from "./fork-trouble.ts";
import type { BoothState } from "../runtime/booth-state.ts";
import type { SenderParts } from "./sender.ts";

export interface WordParts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly store: Store;
  /** The log goes on under another name at the service. `forked`: because that holds other records than ours; absent: it doesn't. */
  readonly rename: (board: BoothState, from: Seq, forked?: NewName["forked"]) => Promise<void>;
}

/** What of a service's words about a booth's records is believed, what comes of it, and what people are told. */
export function serviceWords(
  parts: WordParts,
  board: BoothState,
): Pick<SenderParts, "refused" | "isBelieved" | "conflict" | "doubted" | "offered_seq" | "offered"> {
  const { clock } = parts;
  return {
    refused: (refusals) => setAside(parts, board, refusals),
    isBelieved(seq, records) {
      const { refusing, is_believed } = afterRefusal(board.refusing, { seq, records, mono: clock.mono() });
      board.refusing = refusing;
      if (!is_believed) tellRefusing(parts, board, records);
      return is_believed;
    },
    conflict: (seqs) => fork(parts, board, seqs),
    doubted(seq) {
      const before = board.doubt;
      board.doubt = doubtAfter(before, seq, clock.mono());
      if (board.doubt !== before) return "end";
      return isBelieved(board.doubt, clock.mono()) ? "fork" : "rest";
    },
    offered_seq: () => board.offered_seq,
    offered: (seq) => void (board.offered_seq = Math.max(board.offered_seq, seq)),
  };
}

export function acked({ log }: Pick<WordParts, "log">, board: BoothState, acked_seq: Seq): void {
  if (board.info.acked_seq === 0 && acked_seq > 0) {
    log.info(
      { event: "first_acked", booth: board.booth, acked_seq },
      `${board.booth}: first records ${isPlain(board.row) ? "handed to the broker" : "acked by the service"}, up to ${acked_seq.toString()}`,
    );
  }
  board.info = { ...board.info, acked_seq: Math.max(board.info.acked_seq, acked_seq) };
  // What the service said before it took the records has come to nothing.
  if (board.doubt !== null && acked_seq >= board.doubt.seq) board.doubt = null;
  if (board.waiting_fork !== null && acked_seq >= board.waiting_fork.seqs.from) board.waiting_fork = null;
  board.news.ring();
}

/** What the service will never take is kept here, told of, and holds nothing up. */
async function setAside(parts: WordParts, board: BoothState, refusals: readonly Refusal[]): Promise<void> {
  board.refused = await parts.store.setAside(board.info.stream, refusals);
  const { seq = 0, reason = "" } = refusals[0] ?? {};
  const more = refusals.length === 1 ? "" : ` and ${(refusals.length - 1).toString()} more`;
  const text = `${board.booth}: the service will never take record ${seq.toString()}${more}: ${reason}; kept aside`;
  parts.log.error({ event: "refused", booth: board.booth, seq, records: refusals.length, reason }, text);
  // Its record of the booth may say why.
  board.look_again = true;
  board.news.ring();
}

function tellRefusing({ log }: WordParts, board: BoothState, records: number): void {
  const text = `${board.booth}: the service refuses ${records.toString()} records at once; they are offered again in 5 minutes, and kept aside if it refuses them then`;
  log.warn({ event: "refuses_many", booth: board.booth, records }, text);
}

async function fork({ clock, log, rename }: WordParts, board: BoothState, seqs: HeldSeqs): Promise<boolean> {
  const { booth, row } = board;
  const now = clock.wall();
  const until = nextForkAt(row.stream, now);
  const isTold = board.waiting_fork?.seqs.from === seqs.from;
  board.waiting_fork = until === null ? null : { seqs, until };
  if (until === null) await rename(board, seqs.from, { at: now, seqs });
  const { reason, advice } = until === null ? forkedTrouble(seqs, now) : waitingTrouble({ seqs, until });
  const text = `${booth}: ${reason}; ${advice}`;
  if (until === null) log.warn({ event: "forked", booth, seqs }, text);
  else if (!isTold) log.warn({ event: "fork_waits", booth, seqs }, text);
  board.news.ring();
  return until === null;
}
