import { type Db, inSnapshot, row } from "../storage/db.ts";
import { listAnswer } from "../http/list.ts";
import type { Call, Operation } from "../http/operation.ts";
import { newestReadingAt } from "../ingest/records.ts";
import { type BoothRow, currentProvisioning, gatewayById, latestReported } from "../provisioning/rows.ts";
import { formatOptional } from "../base/time.ts";
import { boothsOf } from "./common.ts";
import { connectivityOf } from "./connectivity.ts";

/** GET /api/booths/latest_updates: per booth, what came last and how far its newest stream is complete. */
export const latestUpdates: readonly Operation[] = [
  {
    method: "GET",
    path: "/api/booths/latest_updates",
    handle: (call) =>
      listAnswer(
        call,
        boothsOf(call).map((booth) => update(call, booth)),
        { fields: FIELDS },
      ),
  },
];

const FIELDS =
  "booth_id serial_number last_reading_at last_received_at connectivity_status firmware_version plc_program_revision".split(
    " ",
  );

interface NewestStream {
  readonly id: number;
  readonly stream_id: string;
  readonly gateway_id: string;
  readonly acked_seq: number;
  readonly last_received_at: number | null;
}

function update(call: Call, booth: BoothRow): Record<string, unknown> {
  const { db } = call.service;
  const sql = `SELECT id, stream_id, gateway_id, acked_seq, last_received_at FROM streams
    WHERE booth_id = ? AND withdrawn_at IS NULL ORDER BY id DESC LIMIT 1`;
  const stream = row<NewestStream>(db, sql, booth.id);
  const reported = latestReported(db, booth.id);
  return {
    booth_id: booth.id,
    serial_number: booth.serial_number,
    last_reading_at: stream === undefined ? null : formatOptional(inSnapshot(db, () => newestReadingAt(db, stream))),
    last_received_at: formatOptional(stream?.last_received_at),
    acked: stream === undefined ? null : { stream_id: stream.stream_id, seq: stream.acked_seq },
    connectivity_status: connectivityOf(booth, heldBy(db, booth), call.now),
    firmware_version: reported?.["firmware_version"] ?? null,
    plc_program_revision: reported?.["plc_program_revision"] ?? null,
  };
}

function heldBy(db: Db, { id }: BoothRow): Parameters<typeof connectivityOf>[1] {
  const holder = currentProvisioning(db, id)?.gateway_id ?? "";
  return { gateway: gatewayById(db, holder), reported: latestReported(db, id) };
}
