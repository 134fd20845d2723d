import type { WorkingHours } from "../../../src/domain/booth.ts";
import { type Db, inTransaction, run } from "../storage/db.ts";
import { addKey, hashOf, type Scope } from "./keys.ts";

const WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday"] as const;

const DEFAULT_TZ = "America/Chicago";
export const DEFAULT_HOURS: readonly WorkingHours[] = WEEKDAYS.map((day) => ({
  day,
  enabled: true,
  start: "08:00:00",
  stop: "17:30:00",
}));

export interface Site {
  readonly serial: string;
  /** Names from which ids are made, so that seeding again finds existing rows. */
  readonly account?: string;
  readonly facility?: string;
  readonly tz?: string;
  readonly working_hours?: readonly WorkingHours[];
  /** Keys as plain text. Only their hashes are stored. */
  readonly provisionKey?: string;
  readonly adminKey?: string;
  readonly userKey?: string;
  readonly boothId?: string;
  readonly boothName?: string;
  readonly profile?: string;
  /** Fields of the provisioning record's config in addition to revision and profile: filters, modes, poll. */
  readonly config?: Readonly<Record<string, unknown>>;
  readonly now?: number;
}

export interface SeededSite {
  readonly account_id: string;
  readonly region_id: string;
  readonly facility_id: string;
  readonly booth_id: string;
}

/** Creates an account, region, facility and booth with its keys. Existing rows are unchanged. */
export function seedSite(db: Db, site: Site): SeededSite {
  const account = site.account ?? "Demo Body Shop";
  const facility = site.facility ?? "Main Street";
  const account_id = idOf("acc", account);
  const region_id = idOf("reg", account);
  const facility_id = idOf("fac", `${account} ${facility}`);
  const booth_id = site.boothId ?? idOf("booth", site.serial);
  const now = site.now ?? Date.now();
  inTransaction(db, () => {
    run(
      db,
      "INSERT INTO accounts (id, name, created_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
      account_id,
      account,
      now,
    );
    run(
      db,
      "INSERT INTO regions (id, account_id, name, is_default) VALUES (?, ?, 'Default', 1) ON CONFLICT DO NOTHING",
      region_id,
      account_id,
    );
    const hours = JSON.stringify(site.working_hours ?? DEFAULT_HOURS);
    const insertFacility = `INSERT INTO facilities (id, account_id, region_id, name, tz, working_hours, created_at, updated_at)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`;
    run(db, insertFacility, facility_id, account_id, region_id, facility, site.tz ?? DEFAULT_TZ, hours, now, now);
    insertBooth(db, site, { account_id, region_id, facility_id, booth_id, now });
    for (const [scope, key] of keysOf(site)) {
      addKey(db, { account_id, name: `seeded ${scope}`, hash: hashOf(key), scope, prefix: key.slice(0, 4) }, now);
    }
  });
  return { account_id, region_id, facility_id, booth_id };
}

function insertBooth(db: Db, site: Site, ids: SeededSite & { now: number }): void {
  const config = JSON.stringify({
    revision: 1,
    profile: site.profile ?? "click-booth",
    filters: {},
    modes: {},
    poll: {},
    ...site.config,
  });
  const sql = `INSERT INTO booths (id, account_id, facility_id, serial_number, name, bay_count, brand_name, burner_size, height,
      length, model_number, motor_size, width, hw_configuration, config, created_at, updated_at)
    VALUES (?, ?, ?, ?, ?, '1', 'Generic', '1000000', '9', '24', 'SB-24', '10', '13.5', '6-slot', ?, ?, ?) ON CONFLICT DO NOTHING`;
  const serial = site.serial.trim().toUpperCase();
  run(
    db,
    sql,
    ids.booth_id,
    ids.account_id,
    ids.facility_id,
    serial,
    site.boothName ?? `Booth ${serial}`,
    config,
    ids.now,
    ids.now,
  );
}

function keysOf(site: Site): [Scope, string][] {
  const keys: [Scope, string | undefined][] = [
    ["provision", site.provisionKey],
    ["admin", site.adminKey],
    ["user", site.userKey],
  ];
  return keys.filter((entry): entry is [Scope, string] => entry[1] !== undefined);
}

/** Returns the id for a seeded name. */
export function idOf(prefix: string, name: string): string {
  return `${prefix}-${name.toLowerCase().replace(/[^a-z0-9]+/g, "-")}`;
}
