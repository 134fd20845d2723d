import { storeCommand, type Command, type SentCommand } from "../../simulators/service/ingest/commands.ts";
import { row, rows } from "../../simulators/service/storage/db.ts";
import type { VirtualService } from "../support/virtual-service.ts";
import type { VirtualSite } from "../support/virtual-site.ts";

/** The service's record of a command. */
export interface Ordered {
  readonly state: string;
  readonly result: Readonly<Record<string, unknown>> | null;
  readonly error: string;
}

/** Sends a command of the service to its one gateway. `expires_in_ms` isn't part of the command's arguments. */
export function order(
  site: VirtualSite,
  type: Command["type"],
  { expires_in_ms = 3_600_000, ...args }: Readonly<Record<string, unknown>> & { readonly expires_in_ms?: number } = {},
): SentCommand {
  const { service, clock } = site;
  const now = clock.wall();
  const gateway_id = gatewayOf(service);
  const command = storeCommand(service.db, { gateway_id, type, args, expires_at: now + expires_in_ms }, now);
  service.order(gateway_id, command);
  return command;
}

export function gatewayOf({ db }: VirtualService): string {
  const found = row<{ id: string }>(db, "SELECT id FROM gateways ORDER BY created_at LIMIT 1");
  if (found === undefined) throw new Error("no gateway has shown itself at the service");
  return found.id;
}

export function outcomeOf({ service }: VirtualSite, id: string): Ordered {
  const found = row<{ state: string; result: string | null }>(
    service.db,
    "SELECT state, result FROM commands WHERE id = ?",
    id,
  );
  const said = JSON.parse(found?.result ?? "{}") as Partial<Ordered>;
  return { state: found?.state ?? "", result: said.result ?? null, error: said.error ?? "" };
}

/** Runs until the command has a result. Throws if it has none in time. */
export async function settled(site: VirtualSite, id: string, within_ms = 30 * 60_000): Promise<Ordered> {
  await site.clock.runUntil(() => !["sent", "accepted"].includes(outcomeOf(site, id).state), within_ms);
  return outcomeOf(site, id);
}

/** Returns the states that the gateway reported for the command. */
export function answersTo({ service }: VirtualSite, id: string): string[] {
  const sql = "SELECT payload FROM uplink_messages WHERE topic = 'up/result' ORDER BY id";
  const said = rows<{ payload: string }>(service.db, sql).map(
    ({ payload }) => JSON.parse(payload) as { readonly cmd_id: string; readonly state: string },
  );
  return said.filter(({ cmd_id }) => cmd_id === id).map(({ state }) => state);
}
