import type { HeldSeqs, StreamLabel } from "../domain/provisioning.ts";
import type { Trouble } from "../domain/status.ts";
import type { EpochMs, Milliseconds, Seq } from "../domain/units.ts";
import type { Refusal } from "../store/port.ts";
import type { DeliveredBooth, DeliveryGateway } from "./context.ts";
import { afterRefusal, type Doubt, doubtAfter, isBelieved, nextForkAt, type WaitingFork } from "./rules/belief.ts";
import { say } from "../domain/sentences.ts";

type Gateway = Pick<DeliveryGateway, "clock" | "log" | "store" | "rename">;

/** What the service will never take is kept here, told of, and holds nothing up. */
export async function setAside(
  { store, log }: Gateway,
  { state, delivery }: DeliveredBooth,
  refusals: readonly Refusal[],
): Promise<void> {
  const { booth, news } = state;
  delivery.refused = await store.setAside(state.log.reach.stream, refusals);
  const { seq = 0, reason = "" } = refusals[0] ?? {};
  const more = refusals.length === 1 ? "" : ` and ${refusals.length - 1} more`;
  const text = `${booth}: the service will never take record ${seq}${more}: ${reason}; kept aside`;
  log.error({ event: "refused", booth, seq, records: refusals.length, reason }, text);
  // Its record of the booth may say why.
  state.binding.lookAgain();
  news.raise();
}

/** Whether to set aside what the service refuses: else it is offered again after a rest. */
export function refusalsBelieved(
  { clock, log }: Gateway,
  { state: { booth }, delivery }: DeliveredBooth,
  refused: readonly { readonly seq: Seq }[],
): boolean {
  const [first] = refused;
  if (first === undefined) return true;
  const records = refused.length;
  const { refusing, is_believed } = afterRefusal(delivery.refusing, { seq: first.seq, records, mono: clock.mono() });
  delivery.refusing = refusing;
  if (!is_believed) {
    const text = `${booth}: the service refuses ${records} records at once; they are offered again in 5 minutes, and kept aside if it refuses them then`;
    log.warn({ event: "refuses_many", booth, records }, text);
  }
  return is_believed;
}

/** It says that it holds another record there, and nothing can prove it. `new`: it says so for the first time; the session ends over that. */
export function doubted({ clock }: Gateway, { delivery }: DeliveredBooth, seq: Seq): "new" | "kept" | "believed" {
  const before = delivery.doubt;
  delivery.doubt = doubtAfter(before, seq, clock.mono());
  if (delivery.doubt !== before) return "new";
  return isBelieved(delivery.doubt, clock.mono()) ? "believed" : "kept";
}

/**
 * The service holds other records from that seq on, and everything before it is there as it is here. Whether the log goes on under
 * another name: else it is asked again after a rest.
 */
export async function nameAnew({ clock, log, rename }: Gateway, one: DeliveredBooth, seqs: HeldSeqs): Promise<boolean> {
  const { booth, binding, news } = one.state;
  const { delivery } = one;
  const now = clock.wall();
  const until = nextForkAt(binding.row.stream, now);
  const isTold = delivery.waiting_fork?.seqs.from === seqs.from;
  delivery.waiting_fork = until === null ? null : { seqs, until };
  if (until === null) await rename(one, seqs.from, { at: now, seqs });
  const { reason, advice } = until === null ? forkedTrouble(seqs, now) : waitingTrouble({ seqs, until });
  const text = `${booth}: ${reason}; ${advice}`;
  if (until === null) log.warn({ event: "forked", booth, seqs }, text);
  else if (!isTold) log.warn({ event: "fork_waits", booth, seqs }, text);
  news.raise();
  return until === null;
}

/** So long people are told of a new name. */
const TOLD_MS: Milliseconds = 30 * 24 * 3_600_000;

/** What people are told of a log's names at the service; null: nothing. */
export function forkTrouble(
  label: StreamLabel | null,
  { waiting, doubt }: { readonly waiting: WaitingFork | null; readonly doubt: Doubt | null },
  now: EpochMs,
): Trouble | null {
  if (waiting !== null) return waitingTrouble(waiting);
  if (doubt !== null)
    return {
      reason: say("log.doubt", { seq: doubt.seq }),
      advice: say("log.ask_kept"),
    };
  const at = label?.forked_at;
  if (label === null || at === undefined || now - at > TOLD_MS) return null;
  return forkedTrouble(label.forked_seqs ?? { from: label.from_seq }, at);
}

function forkedTrouble(seqs: HeldSeqs, at: EpochMs): Trouble {
  return {
    reason: say("log.forked", { seqs: seqsText(seqs), at: minuteOf(at) }),
    advice: say("log.ask"),
  };
}

function waitingTrouble({ seqs, until }: WaitingFork): Trouble {
  return {
    reason: say("log.fork_waits", { seqs: seqsText(seqs), at: minuteOf(until) }),
    advice: say("log.ask_by_itself"),
  };
}

function seqsText({ from, to }: HeldSeqs): string {
  if (to === undefined) return say("log.seqs_on", { from });
  return to === from ? say("log.seq", { from }) : say("log.seqs", { from, to });
}

/** Of UTC. */
function minuteOf(at: EpochMs): string {
  return new Date(at).toISOString().slice(0, 16).replace("T", " ");
}
