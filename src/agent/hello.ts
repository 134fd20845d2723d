import type { BoothHeartbeat, HelloBooth, Store } from "../ports.ts";
import { labelOf } from "../core/stream-label.ts";
import { backlogOf } from "./backlog.ts";
import type { BoothBoard } from "./board.ts";

/** What a session says of a booth when it begins. */
export function helloOf(board: BoothBoard): HelloBooth {
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
export function heartbeatOf(board: BoothBoard): Omit<BoothHeartbeat, "oldest_at"> {
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
export async function wholeHeartbeatOf(board: BoothBoard, store: Pick<Store, "read">): Promise<BoothHeartbeat> {
  const { oldest_at } = await backlogOf(board, store);
  return { ...heartbeatOf(board), oldest_at };
}
