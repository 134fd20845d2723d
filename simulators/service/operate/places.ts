import { HttpError } from "../base/errors.ts";
import type { Call } from "../http/operation.ts";
import { facilitiesOf, type FacilityFields } from "../resources/facilities.ts";
import { regionsOf } from "../resources/regions.ts";
import { type Db, rows } from "../storage/db.ts";
import { type MainAccount, mainAccount } from "./init.ts";

/** A mistake in a cell of the line that is being imported. */
export function wrong(text: string): HttpError {
  return new HttpError(400, text);
}

/** An account with what imports look up in it by name. */
export interface Place {
  readonly account: MainAccount;
  /** A call with all rights in the account, for the functions that requests use too. */
  readonly call: Call;
  readonly regions: Map<string, string>;
  /** Facilities by name; several with the same name can't be told apart. */
  readonly facilities: Map<string, FacilityFields[]>;
}

export interface Places {
  readonly main: MainAccount;
  /** Returns the account of a line; an absent name means the default account. Throws if the name isn't known. */
  readonly of: (name: string | undefined) => Place;
}

/** Looks up accounts by name, each once. `preset`: name of the default account; absent: the operator's own. */
export function placesIn(db: Db, { preset, now }: { preset: string | undefined; now: number }): Places {
  const main = mainAccount(db);
  if (main === undefined) throw wrong("the database has no account: run booth-sim service init first");
  const known = Map.groupBy(
    rows<MainAccount>(db, "SELECT id, name FROM accounts WHERE ? IN (id, parent_id)", main.id),
    ({ name }) => name,
  );
  const made = new Map<string, Place>();
  const places: Places = {
    main,
    of: (name) => {
      const wanted = name ?? preset ?? main.name;
      const [account, other] = wanted === main.name ? [main] : (known.get(wanted) ?? []);
      if (account === undefined) throw wrong(`there is no account "${wanted}": import the accounts first`);
      if (other !== undefined) throw wrong(`several accounts are named "${wanted}"`);
      const place = made.get(account.id) ?? placeOf(db, account, now);
      made.set(account.id, place);
      return place;
    },
  };
  places.of(undefined);
  return places;
}

function placeOf(db: Db, account: MainAccount, now: number): Place {
  const caller = { key_id: "import", account_id: account.id, scope: "admin", gateway_id: null } as const;
  const service = { db, now: () => now, mqttUrl: () => "", plain: false };
  const call: Call = { service, caller, now, params: {}, query: {}, headers: {}, body: undefined, address: "" };
  return {
    account,
    call,
    regions: new Map(regionsOf(db, account.id).map(({ id, name }) => [name, id])),
    facilities: Map.groupBy(facilitiesOf(call), (one) => String(one["name"])),
  };
}

/** Returns the facility of that name; undefined: it doesn't exist. Throws if several have the name. */
export function facilityNamed(place: Place, name: string): FacilityFields | undefined {
  const [found, other] = place.facilities.get(name) ?? [];
  if (other !== undefined) throw wrong(`several facilities of "${place.account.name}" are named "${name}"`);
  return found;
}
