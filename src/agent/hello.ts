import { namedParts } from "../core/stream-names.ts";
import type { StreamId } from "../core/types/units.ts";
import type { BoothHeartbeat, HelloBooth, StreamInfo } from "../ports.ts";
import type { BoothBoard } from "./board.ts";

/**
 * What a session says of a booth when it begins: the part of its stream that grows, and earlier ones, under the names that they
 * had, of which the service lacks something.
 */
export function helloOf(board: BoothBoard): readonly HelloBooth[] {
  const { info, row } = board;
  const base = {
    serial: row.serial ?? "",
    generation: row.generation ?? 0,
    config_revision: row.record?.config?.revision ?? 0,
  };
  return namedParts(info.stream, info.names ?? [])
    .filter(({ to_seq }) => to_seq === null || to_seq > info.acked_seq)
    .map(({ name, from_seq, to_seq, predecessor }) => ({
      stream: name,
      ...base,
      oldest_seq: Math.max(from_seq, info.oldest_seq),
      newest_seq: to_seq ?? info.newest_seq,
      predecessor,
    }));
}

/** What the stream is called now. */
export function nameNow({ stream, names }: StreamInfo): StreamId {
  return names?.at(-1)?.name ?? stream;
}

/** What the heartbeat says of a booth. */
export function heartbeatOf(board: BoothBoard): BoothHeartbeat {
  const { info, row, summary } = board;
  return {
    stream: nameNow(info),
    serial: row.serial ?? "",
    generation: row.generation ?? 0,
    firmware_version: summary?.firmware_version ?? null,
    plc_program: summary?.plc_program ?? null,
    plc_program_revision: summary?.plc_program_revision ?? null,
    link: board.plc.kind,
    mode: summary?.mode ?? "no_data",
    waiting_records: info.newest_seq - info.acked_seq,
    hours_to_full: board.storage?.hours_to_full ?? null,
  };
}
