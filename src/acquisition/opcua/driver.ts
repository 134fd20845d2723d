import { message } from "../../domain/message.ts";
import type { BoothConfig, BoothLink } from "../../config/port.ts";
import { LinkError } from "../../domain/link-error.ts";
import type { Logger } from "../../domain/machine.ts";
import { groupsInForce, type OpcuaProfile, type Profile } from "../../domain/profile.ts";
import type { Milliseconds } from "../../domain/units.ts";
import type { Driver } from "../port.ts";
import { quickestOf } from "../rules/link.ts";
import { serverConnection } from "./connect.ts";
import { cyclicReader, type GroupReader, type OpenServer, resolveTags } from "./cyclic.ts";
import { opcuaLibrary } from "./library.ts";
import { subscribe } from "./subscribe.ts";

export interface OpcuaDriverOptions extends Omit<Parameters<typeof serverConnection>[0], "idle_ms"> {
  readonly profile: OpcuaProfile;
  /** Logger for a warning if a subscription is configured but the server refuses it. */
  readonly log?: Logger;
}

/**
 * Session timeout: a session survives three missed polls. It is not longer, because a server allows few sessions, and each broken
 * connection occupies one until the timeout.
 */
const MIN_IDLE_MS = 20_000;
const IDLE_POLLS = 3;

/**
 * Makes a driver that reads an OPC UA server, or lets the server report changes, over one session. The session lasts until `close` or the
 * first LinkError; the driver never reconnects. It uses real time, unlike the rest of the agent, because sockets have real deadlines.
 */
export function opcuaDriver(options: OpcuaDriverOptions): Driver {
  const { address, profile, log } = options;
  const idle_ms = Math.max(MIN_IDLE_MS, IDLE_POLLS * quickestOf(profile.groups));
  const connection = serverConnection({ ...options, idle_ms });
  let reader: GroupReader | null = null;
  let isReading = false;
  /** Ends the connection after any failure. The first reason is kept. */
  const failed = (error: unknown): never => {
    void connection.leave(
      error instanceof LinkError ? error : new LinkError("malformed", message("plc.opcua.odd_answer"), error),
    );
    throw connection.ended() ?? error;
  };
  const open = async (signal: AbortSignal): Promise<void> => {
    const session = await connection.open(signal);
    const opcua = await opcuaLibrary();
    const resolved = await resolveTags(opcua, session, profile);
    const server = { opcua, session, profile, resolved, insecure: address.security_policy === "None" };
    reader = await readerOf(server, { address, log, idle_ms, onFail: (error) => void connection.leave(error) });
  };

  return {
    open: (signal) => open(signal).catch(failed),
    read: async (groups) => {
      // Rejects a second read at once, because it must not break the connection of the first read.
      if (isReading) throw new LinkError("config", message("plc.setup.under_way"));
      isReading = true;
      try {
        connection.throwIfEnded();
        if (reader === null) throw new LinkError("closed", message("plc.closed.not_open"));
        return await reader(groups);
      } catch (error) {
        return failed(error);
      } finally {
        isReading = false;
      }
    },
    close: () => connection.leave(new LinkError("closed", message("plc.closed.gateway"))),
  };
}

interface Reading extends Pick<OpcuaDriverOptions, "address"> {
  readonly log: Logger | undefined;
  readonly idle_ms: Milliseconds;
  readonly onFail: (error: LinkError) => void;
}

/** Subscribes if the configuration says so and the server agrees. Otherwise returns a reader that requests the values in each poll. */
async function readerOf(server: OpenServer, { address, log, idle_ms, onFail }: Reading): Promise<GroupReader> {
  if (address.mode !== "subscribe") return cyclicReader(server);
  const outcome = await subscribe(server, idle_ms, onFail);
  if ("read" in outcome) return outcome.read;
  const { endpoint } = address;
  const text = message("plc.log.no_subscription", { endpoint, reason: outcome.refused });
  log?.warn({ event: "opcua_subscription_refused", endpoint, reason: outcome.refused }, text);
  return cyclicReader(server);
}

/**
 * Makes the driver of a booth that doesn't share its link. This is an OPC UA driver, or a driver that always rejects if the profile is for
 * another protocol.
 */
export function ownLinkDriver(
  link: Omit<OpcuaDriverOptions, "address" | "profile"> & {
    readonly booth: BoothLink & Pick<BoothConfig, "poll">;
    readonly profile: Profile;
  },
): Driver {
  const { booth, profile, ...options } = link;
  if (booth.opcua !== undefined && profile.protocol === "opcua") {
    // Session timeout and sampling follow the configured poll intervals, not the profile's.
    const paced = { ...profile, groups: groupsInForce(profile, booth) };
    return opcuaDriver({ ...options, address: booth.opcua, profile: paced });
  }
  const given = booth.modbus === undefined ? "opcua" : "modbus";
  const reason = message("plc.setup.other_protocol", { profile: profile.name, protocol: profile.protocol, given });
  const refuse = (): Promise<never> => Promise.reject(new LinkError("config", reason));
  return { open: refuse, read: refuse, close: () => Promise.resolve() };
}
