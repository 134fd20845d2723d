import type { BoothHeartbeat, HelloBooth } from "../port.ts";
import type { Clock } from "../../domain/machine.ts";
import type { ServiceTime } from "../../domain/service-time.ts";
import { helloOf, stateOf } from "../../contract/telemetry.ts";

export interface SayingParts {
  readonly clock: Clock;
  readonly agentVersion: string;
  readonly service_time: ServiceTime;
}

export interface Beat {
  readonly session: string;
  /** Begin of the session, epoch ms. */
  readonly since: number;
  readonly online: boolean;
  readonly booths: readonly BoothHeartbeat[];
}

/** up/state as JSON. */
export function heartbeatText(parts: SayingParts, beat: Beat): string {
  const { offset_ms, synced } = parts.service_time.verdict();
  return JSON.stringify(
    stateOf({
      online: beat.online,
      session: beat.session,
      since: beat.since,
      agent_version: parts.agentVersion,
      clock: { offset_ms, synced },
      links: { service: beat.online ? "up" : "down" },
      booths: beat.booths.map(({ stream, waiting_records, oldest_at, hours_to_full, ...booth }) => ({
        stream_id: stream,
        ...booth,
        backlog: { records: waiting_records, oldest_time: oldest_at, hours_to_full },
      })),
    }),
  );
}

/** up/hello as JSON. */
export function helloText(session: string, booths: readonly HelloBooth[]): string {
  return JSON.stringify(
    helloOf(
      session,
      booths.map(({ stream, serial, generation, oldest_seq, newest_seq, config_revision, predecessor }) => ({
        stream_id: stream,
        serial,
        generation,
        oldest_seq,
        newest_seq,
        config_revision,
        predecessor,
      })),
    ),
  );
}
