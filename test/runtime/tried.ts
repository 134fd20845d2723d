import { join } from "node:path";
import type { SetUpStatus } from "../../src/domain/set-up.ts";
import type { BoothStatus } from "../../src/domain/status.ts";
import { askAgent } from "../../src/tools/agent-client.ts";
import { eventually } from "../support/eventually.ts";
import type { RealSite } from "../support/real-site.ts";

/** A port without a listener. */
export const NOBODY = 9;

/** Calls an operation of the set-up on the agent's socket: POST if a body is given, else GET. */
export async function asked(site: RealSite, path: string, body?: object): Promise<SetUpStatus> {
  const call = body === undefined ? { method: "GET" as const, path } : { method: "POST" as const, path, body };
  // The agent answers its own type.
  return (await askAgent(join(site.runtimeDir, "agent.sock"), { ...call, patience_ms: 30_000 })) as SetUpStatus;
}

export const boothAt = (port: number, more: object = {}): object => ({
  id: "booth-2",
  profile: "click-booth",
  tz: "America/Denver",
  modbus: { host: "127.0.0.1", port },
  ...more,
});

export const tries = (site: RealSite, entry: object): Promise<SetUpStatus> => asked(site, "/setup/booth", entry);
export const settles = (site: RealSite, keep: boolean): Promise<SetUpStatus> => asked(site, "/setup/settle", { keep });

/** Polls the status until the booth is as wanted, for a minute at most. */
export function onceBooth(site: RealSite, id: string) {
  return (what: string, wanted: (booth: BoothStatus) => boolean): Promise<BoothStatus> =>
    eventually(what, async () => (await site.status())?.booths.find((one) => one.booth === id && wanted(one)), 60_000);
}
