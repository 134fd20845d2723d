import type { BoothRow, GatewayRow } from "../provisioning/rows.ts";

/** Without a heartbeat for so long a gateway is offline. */
const HEARTBEAT_MS = 120_000;

export type Connectivity = "Active" | "Idle" | "Offline";

/** Offline: the will came, or no heartbeat for 120 s; else what the heartbeat says of the booth. */
export function connectivityOf(booth: Pick<BoothRow, "serial_number">, by: KnownBy, now: number): Connectivity {
  const { gateway } = by;
  const reported = by.reported?.["connectivity_status"];
  const heartbeat = gateway?.heartbeat_at ?? undefined;
  if (gateway === undefined || heartbeat === undefined)
    return reported === "Active" || reported === "Idle" ? reported : "Offline";
  if (gateway.online === 0 || now - heartbeat > HEARTBEAT_MS) return "Offline";
  return isActive(gateway, booth.serial_number) ? "Active" : "Idle";
}

/** The gateway that holds the booth, and what the booth last reported. */
interface KnownBy {
  readonly gateway: GatewayRow | undefined;
  readonly reported: Readonly<Record<string, unknown>> | undefined;
}

interface HeartbeatBooth {
  readonly serial?: unknown;
  readonly link?: unknown;
  readonly mode?: unknown;
}

function isActive(gateway: GatewayRow, serial: string): boolean {
  const state = JSON.parse(gateway.state ?? "{}") as { booths?: readonly HeartbeatBooth[] };
  const mine = Array.isArray(state.booths)
    ? (state.booths as readonly (HeartbeatBooth | null)[]).find((booth) => booth?.serial === serial)
    : undefined;
  const mode = typeof mine?.mode === "string" ? mine.mode.toLowerCase() : "off";
  return isUp(mine?.link) && !["off", "idle", "no_data", "no data"].includes(mode);
}

/** The link's state comes as a word or as an object that names it. */
function isUp(link: unknown): boolean {
  return link === "up" || (typeof link === "object" && link !== null && "kind" in link && link.kind === "up");
}
