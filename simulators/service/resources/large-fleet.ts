import type { Mode } from "../../../src/domain/booth.ts";
import { rows } from "../storage/db.ts";
import type { Call } from "../http/operation.ts";
import { windowParams } from "../http/query.ts";
import type { BoothRow, GatewayRow } from "../provisioning/rows.ts";
import { NO_USE, type Of, standingOf, type Use, useOf } from "../fleet/facts.ts";
import type { Span } from "../base/span.ts";
import { type Connectivity, connectivityOf } from "./connectivity.ts";
import { type BoothFacts, fieldsOf } from "./booth-fields.ts";
import { boothsOf } from "./common.ts";

/**
 * Reports over an account of many booths on PostgreSQL: from facts, as the figures worker has folded them, by a few statements over all of
 * them. They count in whole hours, and are as old as the last fold: seconds, or minutes where the workers are behind. Over few booths every
 * report is made from the logs themselves.
 */

/** Maximum number of logs read for an answer. */
const FEW_BOOTHS = 100;

export function isLarge(call: Call): boolean {
  const { db, few_booths = FEW_BOOTHS } = call.service;
  if (db.engine !== "postgres") return false;
  const sql = "SELECT count(*) AS n FROM booths WHERE account_id = ?";
  return (rows<{ n: number }>(db, sql, call.caller.account_id)[0]?.n ?? 0) > few_booths;
}

export interface StandingBooth {
  readonly booth: BoothRow;
  readonly facts: BoothFacts;
  readonly mode: Mode;
}

/** Every booth of the caller's account with what its lists show. */
export function standingBooths(call: Call): StandingBooth[] {
  const of: Of = { where: "b.account_id = ?", value: call.caller.account_id };
  return standing(call, boothsOf(call), of);
}

/** The same of these alone: a page of a list costs what it shows. */
export function standingAmong(call: Call, ids: readonly string[]): StandingBooth[] {
  const of: Of = { where: "b.id IN (SELECT json_array_elements_text(?::json))", value: JSON.stringify(ids) };
  const booths = rows<BoothRow>(call.service.db, `SELECT * FROM booths b WHERE ${of.where}`, of.value);
  const byId = new Map(standing(call, booths, of).map((one) => [one.booth.id, one]));
  return ids.flatMap((id) => byId.get(id) ?? []);
}

function standing(call: Call, booths: readonly BoothRow[], of: Of): StandingBooth[] {
  const { db } = call.service;
  const [name] = rows<{ name: string }>(db, "SELECT name FROM accounts WHERE id = ?", call.caller.account_id);
  const folded = standingOf(db, of, call.now);
  const known = knownOf(call, of);
  return booths.map((booth) => {
    const { gateway, reported, status, received_at } = known.get(booth.id) ?? NOTHING_KNOWN;
    const { runtime_ms, mode } = folded.get(booth.id) ?? { runtime_ms: 0, mode: "no_data" as const };
    const facts = { reported, account_name: name?.name ?? null, status, gateway, runtime_ms, received_at };
    return { booth, facts, mode };
  });
}

/**
 * Returns the connectivity and mode of every booth of the caller's account. Reads only the rows that these depend on.
 */
export function connectedBooths(call: Call): { readonly status: Connectivity; readonly mode: Mode }[] {
  const { db } = call.service;
  const account_id = call.caller.account_id;
  const folded = standingOf(db, { where: "b.account_id = ?", value: account_id }, call.now);
  return rows<Reached>(db, REACHED_SQL, account_id).map(({ id, serial_number, gateway_id, reported, ...found }) => {
    const nothing = { hardware_id: null, agent_version: null, last_seen_at: null };
    const gateway = gateway_id === null ? undefined : { ...found, ...nothing, id: gateway_id, account_id };
    const told = reported === null ? undefined : (JSON.parse(reported) as Record<string, unknown>);
    const status = connectivityOf({ serial_number }, { gateway, reported: told }, call.now);
    return { status, mode: folded.get(id)?.mode ?? "no_data" };
  });
}

type Reached = Pick<GatewayRow, "heartbeat_at" | "online" | "state"> & {
  readonly id: string;
  readonly serial_number: string;
  readonly gateway_id: string | null;
  readonly reported: string | null;
};

/** A booth's reported mode counts if its gateway never sent a heartbeat. */
const REACHED_SQL = `SELECT b.id, b.serial_number, g.id AS gateway_id, g.heartbeat_at, coalesce(g.online, 0) AS online, g.state,
    CASE WHEN g.heartbeat_at IS NULL THEN (SELECT reported FROM provisionings
      WHERE booth_id = b.id AND reported IS NOT NULL ORDER BY generation DESC LIMIT 1) END AS reported
  FROM booths b LEFT JOIN LATERAL (SELECT gateway_id FROM provisionings WHERE booth_id = b.id ORDER BY generation DESC LIMIT 1) n ON true
    LEFT JOIN gateways g ON g.id = n.gateway_id WHERE b.account_id = ?`;

type KnownBooth = Pick<BoothFacts, "reported" | "status" | "gateway" | "received_at">;

const NOTHING_KNOWN: KnownBooth = { reported: undefined, status: undefined, gateway: undefined, received_at: 0 };

function knownOf(call: Call, of: Of): ReadonlyMap<string, KnownBooth> {
  const account_id = call.caller.account_id;
  return new Map(
    rows<Known>(call.service.db, knownSql(of), of.value).map(
      ({ booth_id, gateway_id, reported, status, received_at, ...found }) => {
        const gateway = gateway_id === null ? undefined : { ...found, id: gateway_id, account_id, last_seen_at: null };
        const told = reported === null ? undefined : (JSON.parse(reported) as Record<string, unknown>);
        return [booth_id, { reported: told, status: status ?? undefined, gateway, received_at: received_at ?? 0 }];
      },
    ),
  );
}

type Known = Pick<GatewayRow, "hardware_id" | "agent_version" | "heartbeat_at" | "online" | "state"> & {
  readonly booth_id: string;
  readonly gateway_id: string | null;
  readonly status: string | null;
  readonly reported: string | null;
  readonly received_at: number | null;
};

/** The same that a single booth's fields are read from: its newest provisioning, its holder, and the newest thing reported of it. */
const knownSql = ({ where }: Of): string => `WITH newest AS (
    SELECT DISTINCT ON (p.booth_id) p.booth_id, p.gateway_id, p.status FROM provisionings p JOIN booths b ON b.id = p.booth_id
    WHERE ${where} ORDER BY p.booth_id, p.generation DESC)
  SELECT n.booth_id, g.id AS gateway_id, n.status, t.reported, r.received_at, g.hardware_id, g.agent_version, g.heartbeat_at,
    coalesce(g.online, 0) AS online, g.state
  FROM newest n LEFT JOIN gateways g ON g.id = n.gateway_id
    LEFT JOIN LATERAL (SELECT reported FROM provisionings WHERE booth_id = n.booth_id AND reported IS NOT NULL ORDER BY generation DESC LIMIT 1) t ON true
    LEFT JOIN LATERAL (SELECT max(last_received_at) AS received_at FROM streams WHERE booth_id = n.booth_id) r ON true`;

export function standingFields(call: Call, { booth, facts }: StandingBooth): Record<string, unknown> {
  return fieldsOf(call.now, booth, facts);
}

interface Zoned {
  readonly id: string;
  readonly tz: string;
  readonly region_id: string;
}

export interface PlacedBooth {
  readonly booth: Pick<BoothRow, "id" | "facility_id">;
  readonly tz: string;
  readonly region_id: string;
  /** The asked window; default: its own facility's local day so far. */
  readonly window: Span;
}

/** Every booth of the caller's account, by serial number, with where it stands. */
export function boothIds(call: Call): PlacedBooth["booth"][] {
  const sql = "SELECT id, facility_id FROM booths WHERE account_id = ? ORDER BY serial_number";
  return rows(call.service.db, sql, call.caller.account_id);
}

export function placedBooths(call: Call, booths: readonly PlacedBooth["booth"][] = boothIds(call)): PlacedBooth[] {
  const sql = "SELECT id, tz, region_id FROM facilities WHERE account_id = ?";
  const places = new Map(rows<Zoned>(call.service.db, sql, call.caller.account_id).map((place) => [place.id, place]));
  const windows = new Map<string, Span>();
  return booths.map((booth) => {
    const { tz, region_id } = places.get(booth.facility_id) ?? { tz: "UTC", region_id: "" };
    const window = windows.get(tz) ?? windowParams(call.query, { tz, now: call.now });
    windows.set(tz, window);
    return { booth, tz, region_id, window };
  });
}

/** The zones in which the account has booths, with the window that is asked of them. */
export function zonesOf(call: Call): Pick<PlacedBooth, "tz" | "window">[] {
  const sql =
    "SELECT DISTINCT tz FROM facilities WHERE account_id = ? AND id IN (SELECT facility_id FROM booths WHERE account_id = ?)";
  const { account_id } = call.caller;
  return rows<{ tz: string }>(call.service.db, sql, account_id, account_id).map(({ tz }) => {
    return { tz, window: windowParams(call.query, { tz, now: call.now }) };
  });
}

/** Returns the use of each booth. */
export function usesOf(call: Call, placed: readonly PlacedBooth[]): ReadonlyMap<string, Use> {
  const byWindow = Map.groupBy(placed, ({ window }) => window);
  const found = Array.from(byWindow, ([window, some]) => {
    const uses = useOf(
      call.service.db,
      some.map(({ booth }) => booth.id),
      window,
    );
    return some.map(({ booth }): [string, Use] => [booth.id, uses.get(booth.id) ?? NO_USE(window)]);
  });
  return new Map(found.flat());
}
