import { randomUUID } from "node:crypto";
import { z } from "zod";
import { parseBody } from "../http/body.ts";
import { type BoothRow, serialOf } from "../provisioning/rows.ts";
import { createAccount } from "../resources/accounts.ts";
import { SIZES, sizesShape } from "../resources/booths.ts";
import { changeFacility, createShape, insertFacility, TEXTS } from "../resources/facilities.ts";
import { row, run, type SqlValue } from "../storage/db.ts";
import type { Columns, Line } from "./lines.ts";
import { facilityNamed, type Place, type Places, wrong } from "./places.ts";
import { parseWorkingHours } from "./working-hours.ts";

export type Outcome = "created" | "changed" | "unchanged";

/** A kind of rows that can be imported. */
interface Kind {
  readonly columns: Columns;
  /** Returns what identifies the row, so that a file names it only once. */
  readonly keyOf: (line: Line) => string;
  /** Creates the row, or changes its given cells. Throws an HttpError for a mistake in the line. */
  readonly put: (places: Places, cells: Line["cells"]) => Outcome;
}

const text = z.string().max(200).optional();

const accountShape = z.object({
  name: z.string().max(200),
  customer_type: text,
  primary_industry: text,
});

const accounts: Kind = {
  columns: { required: ["name"], optional: ["customer_type", "primary_industry"] },
  keyOf: ({ cells }) => `the account "${cells["name"] ?? ""}"`,
  put: (places, cells) => {
    const { name, ...given } = parseBody(accountShape, cells);
    const { call } = places.of(places.main.name);
    const { db } = call.service;
    const sql = "SELECT * FROM accounts WHERE name = ? AND ? IN (id, parent_id)";
    const known = row<Record<string, SqlValue>>(db, sql, name, places.main.id);
    if (known === undefined) {
      createAccount(call, { name, ...given });
      return "created";
    }
    return changed(known, given, (column, value) => {
      run(db, `UPDATE accounts SET ${column} = ? WHERE id = ?`, value, known["id"] ?? "");
    });
  },
};

/** Sets the columns whose value differs. The columns' names are keys of a parsed shape, never a file's text. */
function changed(
  known: Readonly<Record<string, unknown>>,
  given: Readonly<Record<string, string | null | undefined>>,
  set: (column: string, value: string | null) => void,
): Outcome {
  const differing = Object.entries(given).filter(([column, value]) => value !== undefined && known[column] !== value);
  for (const [column, value] of differing) set(column, value ?? null);
  return differing.length > 0 ? "changed" : "unchanged";
}

const facilities: Kind = {
  columns: {
    required: ["name", "tz"],
    optional: ["account", "region", "working_hours", "latitude", "longitude", ...TEXTS],
  },
  keyOf: ({ cells }) => `the facility "${cells["name"] ?? ""}" of account "${cells["account"] ?? ""}"`,
  put: (places, { account, region, working_hours, latitude, longitude, ...cells }) => {
    const place = places.of(account);
    const body = parseBody(createShape, {
      ...cells,
      ...(working_hours === undefined ? {} : { working_hours: parseWorkingHours(working_hours) }),
      ...(latitude === undefined ? {} : { latitude: Number(latitude) }),
      ...(longitude === undefined ? {} : { longitude: Number(longitude) }),
      ...(region === undefined ? {} : { region_id: regionNamed(place, region) }),
    });
    const known = facilityNamed(place, body.name);
    if (known === undefined) {
      const region_id = body.region_id ?? [...place.regions.values()][0] ?? "";
      const id = insertFacility(place.call, { ...body, region_id });
      place.facilities.set(body.name, [{ ...body, region_id, id }]);
      return "created";
    }
    const isSame = Object.entries(body).every(([name, value]) => JSON.stringify(known[name]) === JSON.stringify(value));
    if (!isSame) changeFacility(place.call, known, body);
    return isSame ? "unchanged" : "changed";
  },
};

/** Returns the region's id, and creates the region if the account has none of that name. */
function regionNamed({ account, call, regions }: Place, name: string): string {
  const id = regions.get(name) ?? randomUUID();
  if (!regions.has(name)) {
    if (name.length > 200) throw wrong("region: at most 200 letters");
    const sql = "INSERT INTO regions (id, account_id, name, is_default) VALUES (?, ?, ?, 0)";
    run(call.service.db, sql, id, account.id, name);
    regions.set(name, id);
  }
  return id;
}

/** Columns of a booth's row that are texts without a rule of their own. */
const BOOTH_TEXTS = [
  "name",
  "external_id",
  "hw_configuration",
  "certificate_id",
  "old_password",
  "new_password",
  "s3_certs_path",
] as const;

const boothShape = sizesShape.extend({
  ...Object.fromEntries(BOOTH_TEXTS.map((name) => [name, text])),
  profile: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,63}$/, "not a profile's name, such as click-booth")
    .optional(),
});
const PROFILE = "click-booth";

const booths: Kind = {
  columns: { required: ["facility", "serial_number"], optional: ["account", "profile", ...BOOTH_TEXTS, ...SIZES] },
  keyOf: ({ cells }) => `the serial number "${(cells["serial_number"] ?? "").toUpperCase()}"`,
  put: (places, { account, facility = "", serial_number = "", ...cells }) => {
    const place = places.of(account);
    const { db } = place.call.service;
    const serial = serialOf(serial_number);
    if (serial === undefined) throw wrong(`serial_number: "${serial_number}" can't be a serial number`);
    const { profile, ...rest } = parseBody(boothShape, cells);
    const found = facilityNamed(place, facility);
    if (found === undefined)
      throw wrong(`there is no facility "${facility}" in "${place.account.name}": import the facilities first`);
    const given = { ...(rest as Readonly<Record<string, string | null>>), facility_id: String(found["id"]) };
    const known = row<BoothRow>(db, "SELECT * FROM booths WHERE serial_number = ?", serial);
    if (known === undefined) {
      insertBooth(place, serial, {
        ...given,
        config: configOf({ revision: 0, filters: {}, modes: {}, poll: {} }, profile),
      });
      return "created";
    }
    if (known.account_id !== place.account.id) throw wrong(`serial_number: ${serial} belongs to another account`);
    const config = JSON.parse(known.config) as Config;
    const isOther = profile !== undefined && profile !== config["profile"];
    const all = { ...given, ...(isOther ? { config: configOf(config, profile) } : {}) };
    return changed({ ...known }, all, (column, value) => {
      const sql = `UPDATE booths SET ${column} = ?, updated_at = ? WHERE id = ?`;
      run(db, sql, value, place.call.now, known.id);
    });
  },
};

type Config = Readonly<Record<string, unknown>> & { readonly revision: number };

/** Returns the next revision of a booth's configuration with the profile. */
function configOf(config: Config, profile = PROFILE): string {
  return JSON.stringify({ ...config, revision: config.revision + 1, profile });
}

function insertBooth({ account, call }: Place, serial: string, given: Readonly<Record<string, string | null>>): void {
  const { now } = call;
  const fields = {
    id: randomUUID(),
    account_id: account.id,
    serial_number: serial,
    name: `Booth ${serial}`,
    created_at: now,
    updated_at: now,
    ...given,
  };
  const names = Object.keys(fields);
  const sql = `INSERT INTO booths (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`;
  run(call.service.db, sql, ...Object.values(fields));
}

export const KINDS: Readonly<Record<string, Kind>> = { accounts, facilities, booths };
