import { rows } from "../../simulators/service/storage/db.ts";
import type { HttpClient } from "../../src/delivery/http/client.ts";
import type { AgentStatus } from "../../src/domain/status.ts";
import type { BatchOutcome, ServiceLink } from "../../src/delivery/port.ts";
import type { Clock } from "../../src/domain/machine.ts";
import type { claimBody } from "../../src/contract/provisioning.ts";
import type { VirtualSite } from "../support/virtual-site.ts";
import type { DiskFault } from "./disk.ts";
import { afterOffer, NEW_SESSION } from "./laws/lanes.ts";
import { countHeld } from "./records.ts";
import { fieldFaults, type FieldWatching } from "./laws/field.ts";
import type { FieldState } from "./field/state.ts";
import { untrueStatus, type Weather } from "./laws/status.ts";
import type { Ledger } from "./ledger.ts";
import type { Uplink } from "./uplink.ts";

/** Maximum time until a failed or a restored connection to the PLC is shown. */
const PLC_MS = 60_000;
/** The longest pause between two connects plus the deadline of an ack. */
const SERVICE_WELL_MS = 4 * 60_000;
/** Limit for the delay of the connection. The laws require nothing of slower connections. */
const SLOW_MS = 500;
/** Maximum number of pending sleeps of an agent with one booth. Each loop has one or two. */
const MOST_SLEEPS = 40;
/** Longer than in the unit. A beat every 10 s would be a tenth of all events. */
export const WATCHDOG_MS = 120_000;

/** State kept between two checks. */
export interface Watching {
  /**
   * True instants since which the connection to the service has been well, or closed; null: it is not in that state.
   */
  well_since: number | null;
  closed_since: number | null;
  started_at: number;
  starts: number;
  upsets: number;
  closings: number;
  /** The records that waited when all faults had ended; null: a fault is active. */
  due: Due | null;
  readonly field: FieldWatching;
}

/** Records up to `seq` must be acked within `within_ms` after `since`. */
interface Due {
  readonly since: number;
  readonly seq: number;
  readonly within_ms: number;
}

/** The observed parts of a gateway. */
interface Looked {
  readonly site: VirtualSite;
  readonly folder: string;
  readonly counts: { readonly starts: number };
  readonly disk: DiskFault | null;
  status(): AgentStatus | null;
  sleeping(): number;
  beatAt(): number;
}

export interface Look {
  readonly box: Looked;
  readonly ledger: Ledger;
  readonly uplink: Uplink;
  /** True instant since which no fault has prevented reading the PLC, except for its power and its cable. */
  readonly plc_well_since: number;
  /** Maximum time until a closed connection is shown. */
  readonly shown_ms: number;
  readonly field: FieldState;
}

/** Checks the agent's status and data, and notes what is wrong. */
export function lookAt(watching: Watching, look: Look): void {
  const { box, ledger, uplink } = look;
  const { clock, service } = box.site;
  const now = clock.truth();
  if (box.counts.starts !== watching.starts) Object.assign(watching, { starts: box.counts.starts, started_at: now });
  const { down, lose_acks, latency_ms } = service.way;
  const isTrue = uplink.lying.size === 0 && uplink.foreign.size === 0;
  const isOpen = !down && lose_acks === 0 && latency_ms < SLOW_MS && uplink.http === null && isTrue;
  const isWell = isOpen && !uplink.closes_after_ack;
  const upsets = uplink.upsets + service.way.lost_acks;
  watching.well_since = isWell && upsets === watching.upsets ? (watching.well_since ?? now) : null;
  watching.upsets = upsets;
  // The connection may have been open for a moment between two checks.
  const isStillClosed = service.way.down && uplink.closings === watching.closings;
  watching.closings = uplink.closings;
  watching.closed_since = isStillClosed ? (watching.closed_since ?? now) : service.way.down ? now : null;
  const status = box.status();
  if (status === null) return;
  const ran_ms = now - watching.started_at;
  const since = (at: number | null, ms: number): boolean => at !== null && now - at > ms && ran_ms > ms;
  const weather: Weather = {
    plc: Math.min(ran_ms, now - look.plc_well_since) > PLC_MS ? plcOf(box) : "mixed",
    service: since(watching.well_since, SERVICE_WELL_MS)
      ? "all"
      : since(watching.closed_since, look.shown_ms)
        ? "never"
        : "mixed",
    lacking: (acked_seq) => (isHealing(watching, uplink, now) ? 0 : lackingUpTo(box, acked_seq)),
    pending: pendingOf(ledger),
  };
  const fieldLook = {
    site: box.site,
    folder: box.folder,
    field: look.field,
    now,
    ran_ms,
    plc_well_since: look.plc_well_since,
    service_well_ms: watching.well_since === null ? 0 : now - watching.well_since,
    is_only_closed: isOpen && uplink.closes_after_ack && uplink.chunks === null && box.disk === null,
  };
  const wrong = [...untrueStatus(status, weather), ...fieldFaults(watching.field, status, fieldLook)];
  const late = lateDelivery(watching, status, { now, isWell: box.disk === null });
  if (late !== "") ledger.broken.push(`once the service tells the truth, all is delivered in time: ${late}`);
  if (box.sleeping() > MOST_SLEEPS) wrong.push(`${box.sleeping()} sleeps at once`);
  if (ran_ms > WATCHDOG_MS && now - box.beatAt() > WATCHDOG_MS)
    wrong.push("the service manager would have started it anew");
  for (const text of wrong) ledger.broken.push(`what people are shown is so: ${new Date(now).toISOString()} ${text}`);
}

/** Maximum delay of delivery after the end of a fault or a lie, in addition to the time for the backlog. */
const DELIVERED_WITHIN_MS = 10 * 60_000;
/** A low limit: every service here accepts records much faster. */
const DRAINED_PER_S = 100;
/** A rejected key or an unknown serial number is retried after 22.5 min at the latest. */
const BOUND_WITHIN_MS = 25 * 60_000;
/** States in which the booth isn't bound yet, or waits for a confirmation. */
const NOT_BOUND = ["unprovisioned", "serial_entered", "awaiting_confirm"];

/** Returns an error if records have waited too long; otherwise "". */
function lateDelivery(
  watching: Watching,
  { booths: [booth] }: AgentStatus,
  { now, isWell }: { readonly now: number; readonly isWell: boolean },
): string {
  const state = booth?.provisioning.state ?? "unprovisioned";
  if (booth === undefined || watching.well_since === null || !isWell || NOT_BOUND.includes(state)) {
    watching.due = null;
    return "";
  }
  const { newest_seq, acked_seq } = booth.log;
  if ((watching.due?.since ?? 0) < watching.started_at) watching.due = null;
  if (watching.due === null) {
    const drain_ms = ((newest_seq - acked_seq) / DRAINED_PER_S) * 1_000;
    const bound_ms = state === "active" ? 0 : BOUND_WITHIN_MS;
    watching.due = { since: now, seq: newest_seq, within_ms: DELIVERED_WITHIN_MS + drain_ms + bound_ms };
  }
  const { since, seq, within_ms } = watching.due;
  if (now - since <= within_ms) return "";
  watching.due = null;
  return acked_seq >= seq
    ? ""
    : `${new Date(now).toISOString()} acked ${acked_seq} of ${seq}, ${state}, all well since ${new Date(since).toISOString()}`;
}

function plcOf({ site: { clock, booth, plc } }: Looked): Weather["plc"] {
  const from = clock.truth() - PLC_MS;
  const to = clock.truth();
  if (plc.fault !== null || plc.losses !== null) return "mixed";
  const out = booth.truth(from, to).outages;
  return out.length === 0 ? "all" : out.some(({ start, end }) => start <= from && end >= to) ? "never" : "mixed";
}

/** Maximum time until a restored service has got back what it lost: a heartbeat, and the transfer of some hours. */
const HEALED_WITHIN_MS = 15 * 60_000;

function isHealing({ well_since, started_at }: Watching, { restored_at }: Uplink, now: number): boolean {
  if (restored_at === null) return false;
  return well_since === null || now - Math.max(restored_at, well_since, started_at) < HEALED_WITHIN_MS;
}

/** Counts the records that the service lacks in the stream with the highest seq. */
function lackingUpTo({ site: { service } }: Looked, acked_seq: number): number {
  const [furthest] = rows<{ id: number; gateway_id: string; seq: number }>(
    service.db,
    "SELECT id, gateway_id, acked_seq AS seq FROM streams ORDER BY acked_seq DESC LIMIT 1",
  );
  if (furthest === undefined || acked_seq <= furthest.seq) return 0;
  return acked_seq - furthest.seq - countHeld(service.db, furthest, [furthest.seq + 1, acked_seq]);
}

function pendingOf({ takes, durable }: Ledger): number {
  const stream = takes.at(-1)?.entry.stream ?? "";
  const committed = durable.get(stream) ?? 0;
  const first = takes.findLastIndex(({ entry }) => entry.stream === stream && entry.take <= committed);
  return takes.length - 1 - first;
}

/**
 * Notes in which order each session sends. `answered` contains the records that the service has answered, or that are
 * set aside; it is updated here.
 */
export function orderWatched(link: ServiceLink, ledger: Ledger, answered: Set<number>): ServiceLink {
  return {
    async connect(account, signal) {
      const session = await link.connect(account, signal);
      let order = NEW_SESSION;
      const inOrder = async (seqs: readonly number[], send: () => Promise<BatchOutcome>): Promise<BatchOutcome> => {
        const after = afterOffer(order, seqs, answered);
        if (after === null)
          ledger.broken.push(`each lane is sent in order: ${String(seqs[0])} after ${order.lanes.join()}`);
        order = after ?? order;
        const outcome = await send();
        if (outcome.kind === "acked") {
          for (const seq of seqs) answered.add(seq);
          order = { ...order, held_seq: outcome.held_seq };
        }
        // A rejected or too long batch is sent again, in halves or after a pause, while other batches continue.
        if (isRefusal(outcome)) order = { ...order, lanes: [] };
        return outcome;
      };
      return {
        ...session,
        send(stream, generation, records) {
          const seqs = records.map(({ seq }) => seq);
          return inOrder(seqs, () => session.send(stream, generation, records));
        },
        async sendChunk(stream, generation, chunk) {
          const { from, to } = chunk;
          const seqs = Array.from({ length: to - from + 1 }, (_, index) => from + index);
          const outcome = await inOrder(seqs, () => session.sendChunk(stream, generation, chunk));
          // After a conflict the range is sent again in batches, while others continue.
          if (outcome.kind === "conflict") order = { ...order, lanes: [] };
          return outcome;
        },
      };
    },
  };
}

function isRefusal(outcome: BatchOutcome): boolean {
  const isWhole = outcome.kind === "refused" || outcome.kind === "too_long";
  return isWhole || (outcome.kind === "acked" && outcome.rejected.length > 0);
}

/** Notes the ids of the booth's claims: a repeated claim must keep its id. */
export function claimWatched(http: HttpClient, ledger: Ledger, claims: Map<string, string>): HttpClient {
  return {
    send(request) {
      const id = request.headers?.["Idempotency-Key"];
      if (id !== undefined) {
        const { serial_number, gateway, expected_generation } = request.body as ReturnType<typeof claimBody>;
        const claim = JSON.stringify([serial_number, gateway.id, expected_generation]);
        const before = claims.get(claim) ?? id;
        if (before !== id) ledger.broken.push(`a claim keeps its id: ${id} after ${before}`);
        claims.set(claim, before);
      }
      return http.send(request);
    },
    close: () => http.close(),
  };
}

/** Knows the pending sleeps of a process. */
export function countedClock(clock: Clock, sleeping: Set<symbol>): Clock {
  return {
    ...clock,
    async sleep(ms, signal) {
      const name = Symbol();
      sleeping.add(name);
      try {
        await clock.sleep(ms, signal);
      } finally {
        sleeping.delete(name);
      }
    },
  };
}
