import { emptyRow, type ProvisioningRow } from "../domain/provisioning.ts";
import { mendedLabel } from "../domain/stream-label.ts";
import type { BoothId } from "../domain/units.ts";
import type { Clock, Logger } from "../domain/machine.ts";
import type { Identity, Store, StreamInfo } from "../store/port.ts";
import type { SharedSignal } from "../domain/signal.ts";
import { linkDown, type BoothState } from "./booth-state.ts";
import { keptRefusal } from "../provisioning/report-outcome.ts";
import { keptShown } from "../provisioning/shown-booth.ts";

interface StateParts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly store: Store;
  readonly identity: Identity;
  readonly news: SharedSignal;
}

/** What an older agent stored and nothing could come of is put right, and told. */
async function mendedRow(
  { identity, log }: StateParts,
  { booth, acked_seq }: StreamInfo,
  row: ProvisioningRow | undefined,
): Promise<ProvisioningRow | undefined> {
  const stream = mendedLabel(row?.stream ?? null, acked_seq);
  if (row === undefined || stream === row.stream) return row;
  const mended = { ...row, stream };
  await identity.setProvisioning(booth, mended);
  const text = `${booth}: the log's name at the service was to begin before the log does, so that nothing could be delivered under it; it begins at seq ${(acked_seq + 1).toString()} now`;
  log.warn({ event: "stream_mended", booth, from_seq: acked_seq + 1 }, text);
  return mended;
}

/** Opens a booth's stream and its provisioning row; nothing else is known of it yet. */
export async function openBoothState(
  parts: StateParts,
  setup: { readonly config: { readonly id: BoothId }; readonly address: string },
): Promise<BoothState> {
  const booth = setup.config.id;
  const opened = await parts.store.openStream(booth);
  const row = await mendedRow(parts, opened, (await parts.identity.provisioning(booth)) as ProvisioningRow | undefined);
  // Acks are stored with the next commit, a new name at once: what goes under it isn't begun before all in front of it was acked.
  const info = await parts.store.ack(opened.stream, (row?.stream?.from_seq ?? 1) - 1);
  return {
    booth,
    address: setup.address,
    news: parts.news.own(),
    row: { ...emptyRow(parts.clock.wall()), ...row },
    turn: Promise.resolve(),
    look_again: false,
    offered_revision: null,
    drift: "",
    reconciliations: [],
    reports: { refused: await keptRefusal(parts.identity, booth), read_back: null },
    shown: await keptShown(parts.identity, booth),
    trial_turn: Promise.resolve(),
    in_session: false,
    silence: null,
    doubt: null,
    offered_seq: info.newest_seq,
    waiting_fork: null,
    refusing: null,
    second_offer: null,
    refused: await parts.store.refused(info.stream),
    plc: linkDown(parts.clock.wall(), "not connected yet"),
    answered: 0,
    shows_serial: null,
    info,
    state: await parts.store.state(info.stream),
    summary: null,
    offsets: {},
    taken: 0,
    commits: 0,
    pending: 0,
    last_commit_at: null,
    commit_ms: null,
    trouble: "",
    storage: null,
  };
}
