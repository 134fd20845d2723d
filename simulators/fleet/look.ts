import { isPostgres } from "../service/storage/open.ts";
import type { StoreLook } from "./account.ts";
import { lookIntoPostgres } from "./look-postgres.ts";
import { lookIntoSqlite } from "./look-sqlite.ts";

/** Opens the service's database independently of the service. */
export async function lookInto(store: string): Promise<StoreLook> {
  return isPostgres(store) ? lookIntoPostgres(store) : lookIntoSqlite(store);
}
