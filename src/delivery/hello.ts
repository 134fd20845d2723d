import type { BoothHeartbeat, HelloBooth } from "./port.ts";
import type { Store } from "../store/port.ts";
import { labelOf } from "../domain/stream-label.ts";
import type { BoothState } from "../runtime/booth-state.ts";
import type { BacklogStatus } from "../domain/status.ts";

/** What a session says of a booth when it begins. */
export function helloOf(board: BoothState): HelloBooth {
  const { info, row } = board;
  const label = labelOf(row, info);
  return {
    ...label,
    // A log that went on under another name here follows its own; the first that was taken over with, the other gateway's.
    predecessor: label.predecessor ?? row.claim?.predecessor ?? null,
    serial: row.serial ?? "",
    generation: row.generation ?? 0,
    newest_seq: info.newest_seq,
    config_revision: row.record?.config?.revision ?? 0,
  };
}

/** What the heartbeat says of a booth, but for the oldest record that waits: that one has to be looked up. */
export function heartbeatOf(board: BoothState): Omit<BoothHeartbeat, "oldest_at"> {
  const { info, row, summary } = board;
  return {
    stream: labelOf(row, info).stream,
    serial: row.serial ?? "",
    generation: row.generation ?? 0,
    firmware_version: summary?.firmware_version ?? null,
    plc_program: summary?.plc_program ?? null,
    plc_program_revision: summary?.plc_program_revision ?? null,
    link: board.plc.kind === "down" ? "down" : "up",
    mode: summary?.mode ?? "no_data",
    waiting_records: info.newest_seq - info.acked_seq,
    hours_to_full: board.storage?.hours_to_full ?? null,
  };
}

/** The whole heartbeat of a booth. */
export async function wholeHeartbeatOf(board: BoothState, store: Pick<Store, "read">): Promise<BoothHeartbeat> {
  const { oldest_at } = await backlogOf(board, store);
  return { ...heartbeatOf(board), oldest_at };
}

/** What of a booth's log waits for the service, and since when the oldest of it does. */
export async function backlogOf(board: BoothState, store: Pick<Store, "read">): Promise<BacklogStatus> {
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
