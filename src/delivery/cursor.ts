import type { LogReach } from "../domain/booth-state.ts";
import { isPlain } from "../domain/provisioning.ts";
import type { Seq } from "../domain/units.ts";
import type { DeliveredBooth, DeliveryGateway } from "./context.ts";

interface MovedLog {
  readonly gateway: Pick<DeliveryGateway, "log" | "store">;
  readonly booth: DeliveredBooth;
  readonly reach: () => LogReach;
  /** Called at each move. */
  readonly proven: () => void;
}

/**
 * Moves a log's cursor up to a seq, never back. Acks that come while it is moved go together with the next move: each call wakes the store's
 * thread, and that takes this one's core for it.
 */
export function cursorMover(log: MovedLog): (up_to: Seq) => Promise<void> {
  let most: Seq = 0;
  let now = Promise.resolve();
  let next: Promise<void> | null = null;
  const begin = (): Promise<void> => {
    next = null;
    now = move(log, most);
    return now;
  };
  return (up_to) => {
    most = Math.max(most, up_to);
    next ??= now.then(begin);
    return next;
  };
}

async function move({ gateway, booth, reach, proven }: MovedLog, up_to: Seq): Promise<void> {
  const { stream, acked_seq } = reach();
  if (up_to <= acked_seq) return;
  const moved = await gateway.store.ack(stream, up_to);
  proven();
  acked(gateway, booth, moved.acked_seq);
}

/** The cursor stands there now: what the service said before may have come to nothing by it. */
function acked({ log: told }: MovedLog["gateway"], { state, delivery }: DeliveredBooth, acked_seq: Seq): void {
  const { booth, log, binding, progress } = state;
  const before = log.reach.acked_seq;
  if (before === 0 && acked_seq > 0) {
    const how = isPlain(binding.row) ? "handed to the broker" : "acked by the service";
    const text = `${booth}: first records ${how}, up to ${acked_seq}`;
    told.info({ event: "first_acked", booth, acked_seq }, text);
  }
  log.cursorMoved(Math.max(before, acked_seq));
  if (delivery.doubt !== null && acked_seq >= delivery.doubt.seq) delivery.doubt = null;
  if (delivery.waiting_fork !== null && acked_seq >= delivery.waiting_fork.seqs.from) delivery.waiting_fork = null;
  progress.raise();
}
