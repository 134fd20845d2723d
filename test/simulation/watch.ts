import { rows } from "../../simulators/service/db.ts";
import type { HttpClient } from "../../src/cloud/http.ts";
import type { AgentStatus } from "../../src/core/types/status.ts";
import type { ServiceLink } from "../../src/ports.ts";
import type { ClaimWire } from "../../src/wire/provisioning.ts";
import type { VirtualSite } from "../support/virtual-site.ts";
import { afterBatch, type Lanes } from "./laws/lanes.ts";
import { untrueStatus, type Weather } from "./laws/status.ts";
import type { Ledger } from "./ledger.ts";
import type { Uplink } from "./uplink.ts";

/** How long something must have held for people to be shown it: reading it fails, or works again, within this. */
const PLC_MS = 60_000;
/** The widest wait between two tries to connect, and an ack's. */
const SERVICE_WELL_MS = 4 * 60_000;
/** Slower than this nothing is promised of it. */
const SLOW_MS = 500;
/** Sleeps of one agent with one booth; each loop has one or two. */
const MOST_SLEEPS = 40;
/** Longer than the unit's: a beat each 10 s would be a tenth of all that happens. */
export const WATCHDOG_MS = 120_000;

/** What is remembered from look to look. */
export interface Watching {
  /** True instants since when the way to the service has been well, or closed; null: it isn't. */
  well_since: number | null;
  closed_since: number | null;
  started_at: number;
  starts: number;
  upsets: number;
  closings: number;
}

/** What of a gateway is looked at. */
interface Looked {
  readonly site: VirtualSite;
  readonly counts: { readonly starts: number };
  status(): AgentStatus | null;
  sleeping(): number;
  beatAt(): number;
}

export interface Look {
  readonly box: Looked;
  readonly ledger: Ledger;
  readonly uplink: Uplink;
  /** True instant since which no fault has kept the PLC from being read, but for its power and its cable. */
  readonly plc_well_since: number;
  /** A closed way shows within so long. */
  readonly shown_ms: number;
}

/** Looks at what the agent shows and holds, and writes down what is wrong with it. */
export function lookAt(watching: Watching, look: Look): void {
  const { box, ledger, uplink } = look;
  const { clock, service } = box.site;
  const now = clock.truth();
  if (box.counts.starts !== watching.starts) Object.assign(watching, { starts: box.counts.starts, started_at: now });
  const { down, lose_acks, latency_ms } = service.way;
  const isWell = !down && lose_acks === 0 && latency_ms < SLOW_MS && uplink.http === null;
  const upsets = uplink.upsets + service.way.lost_acks;
  watching.well_since = isWell && upsets === watching.upsets ? (watching.well_since ?? now) : null;
  watching.upsets = upsets;
  // Between two looks it may have been open for a moment.
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
    held_seq: heldSeq(box),
    pending: pendingOf(ledger),
  };
  const wrong = untrueStatus(status, weather);
  if (box.sleeping() > MOST_SLEEPS) wrong.push(`${box.sleeping().toString()} sleeps at once`);
  if (ran_ms > WATCHDOG_MS && now - box.beatAt() > WATCHDOG_MS)
    wrong.push("the service manager would have started it anew");
  for (const text of wrong) ledger.broken.push(`what people are shown is so: ${new Date(now).toISOString()} ${text}`);
}

function plcOf({ site: { clock, booth, plc } }: Looked): Weather["plc"] {
  const [from, to] = [clock.truth() - PLC_MS, clock.truth()];
  if (plc.fault !== null) return "mixed";
  const out = booth.truth(from, to).outages;
  return out.length === 0 ? "all" : out.some(({ start, end }) => start <= from && end >= to) ? "never" : "mixed";
}

function heldSeq({ site: { service } }: Looked): number | null {
  return rows<{ seq: number | null }>(service.db, "SELECT max(acked_seq) AS seq FROM streams")[0]?.seq ?? null;
}

function pendingOf({ takes, durable }: Ledger): number {
  const stream = takes.at(-1)?.entry.stream ?? "";
  const committed = durable.get(stream) ?? 0;
  const first = takes.findLastIndex(({ entry }) => entry.stream === stream && entry.take <= committed);
  return takes.length - 1 - first;
}

/** Sees in which order each session sends. */
export function orderWatched(link: ServiceLink, ledger: Ledger): ServiceLink {
  return {
    async connect(account, signal) {
      const session = await link.connect(account, signal);
      let lanes: Lanes = [];
      return {
        ...session,
        send(stream, generation, records) {
          const [first, last] = [records[0]?.seq ?? 0, records.at(-1)?.seq ?? 0];
          const after = afterBatch(lanes, first, last);
          if (after === null)
            ledger.broken.push(`each lane is sent in order: ${first.toString()} after ${lanes.join()}`);
          lanes = after ?? lanes;
          return session.send(stream, generation, records);
        },
      };
    },
  };
}

/** Sees under which ids the booth is claimed: the same claim keeps its id however often it is made. */
export function claimWatched(http: HttpClient, ledger: Ledger, claims: Map<string, string>): HttpClient {
  return {
    send(request) {
      const id = request.headers?.["Idempotency-Key"];
      if (id !== undefined) {
        const { serial_number, gateway, expected_generation } = request.body as ClaimWire;
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
