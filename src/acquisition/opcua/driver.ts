import { LinkError, abortedBy } from "../../domain/link-error.ts";
import type { BoothConfig, BoothLink, OpcuaAddress } from "../../config/port.ts";
import { onAbort } from "../../domain/signal.ts";
import { groupsInForce, type OpcuaProfile, type Profile } from "../../domain/profile.ts";
import type { EpochMs, Milliseconds } from "../../domain/units.ts";
import { quickestOf } from "../rules/link.ts";
import type { Driver, PlcPasswords } from "../port.ts";
import type { Logger } from "../../domain/machine.ts";
import { type Channel, secureChannel } from "./channel.ts";
import { type Connecting, connectSession } from "./connect.ts";
import { cyclicReader, type GroupReader, type OpenServer, resolveTags } from "./cyclic.ts";
import { opcuaLibrary } from "./library.ts";
import type { OpcuaPki } from "./pki.ts";
import { FAREWELL_MS, leaveServer, type Session, withPasswords } from "./session.ts";
import { subscribe } from "./subscribe.ts";
import { say } from "../../domain/sentences.ts";

export interface OpcuaDriverOptions {
  readonly address: OpcuaAddress;
  readonly profile: OpcuaProfile;
  /** Shared by all links of the gateway. */
  readonly pki: OpcuaPki;
  /** For the expiry of certificates alone. */
  readonly wall: () => EpochMs;
  readonly timeouts?: {
    /** Until a secure channel stands, each time; 5000. */
    readonly connect_ms?: Milliseconds;
    /** From one request to the end of its answer; 5000. */
    readonly answer_ms?: Milliseconds;
    /** How long an abort or close() waits for the server to close the session; 500. */
    readonly farewell_ms?: Milliseconds;
    /** How long the channel's keys are used, at most; an hour. */
    readonly keys_ms?: Milliseconds;
  };
  /** Of a user whose password no file holds: each is tried, in their order. */
  readonly passwords?: PlcPasswords | undefined;
  /** Told where a subscription was wanted and polls ask instead. */
  readonly log?: Logger;
}

/**
 * A session outlives three missed polls. Not more: a server has room for a few, and each connection that breaks leaves
 * one behind until this is over.
 */
const MIN_IDLE_MS = 20_000;
const IDLE_POLLS = 3;

/**
 * Reads an OPC UA server, or lets it tell what changes, over one session, which lasts until `close` or the first LinkError; it never reconnects. The
 * library is loaded by `open`. Real time, unlike the rest of the agent: deadlines belong to the socket.
 */
export function opcuaDriver(options: OpcuaDriverOptions): Driver {
  const { address, profile } = options;
  const { connect_ms = 5000, answer_ms = 5000, farewell_ms = FAREWELL_MS, keys_ms } = options.timeouts ?? {};
  const { endpoint } = address;
  let channel: Channel | null = null;
  let session: Session | null = null;
  let reader: GroupReader | null = null;
  let ended: LinkError | null = null;
  let reading = false;
  let opening: Promise<void> | null = null;
  let left: Promise<void> | null = null;
  let forget = (): void => undefined;
  /** Closes session and connection, once; the first reason counts. */
  const end = (error: LinkError): Promise<void> => {
    ended ??= error;
    const connected = { opening, session: () => session, channel: () => channel };
    return (left ??= leaveServer(connected, ended, farewell_ms));
  };
  const goOn = (): void => {
    if (ended !== null) throw ended;
  };
  const open = async (): Promise<void> => {
    const opcua = await opcuaLibrary();
    goOn();
    const idle_ms = Math.max(MIN_IDLE_MS, IDLE_POLLS * quickestOf(profile.groups));
    const newChannel: Connecting["newChannel"] = (secured) => {
      goOn();
      return (channel = secureChannel(opcua, { ...secured, endpoint, connect_ms, answer_ms, keys_ms }));
    };
    const connecting = { opcua, address, pki: options.pki, idle_ms, now: options.wall(), newChannel };
    session = await withPasswords(address, options.passwords, (password) =>
      connectSession({ ...connecting, password }),
    );
    goOn();
    const resolved = await resolveTags(opcua, session, profile);
    const insecure = address.security_policy === "None";
    const server = { opcua, session, profile, resolved, insecure };
    reader = await readerOf(server, { ...options, idle_ms, onFail: (error) => void end(error) });
  };
  /** Every failure ends the connection, as an abort does, and the first reason is the one that counts. */
  const failed = (error: unknown): never => {
    void end(error instanceof LinkError ? error : new LinkError("malformed", say("plc.odd.answer"), error));
    throw ended ?? error;
  };

  return {
    open: (signal) => {
      forget = onAbort(signal, () => void end(abortedBy(signal)));
      opening = open();
      return opening.catch(failed);
    },
    read: async (groups) => {
      // A second caller's mistake must not cost the first one its connection.
      if (reading) throw new LinkError("config", "a read is already under way");
      reading = true;
      try {
        goOn();
        if (reader === null) throw new LinkError("closed", say("plc.closed.not_open"));
        return await reader(groups);
      } catch (error) {
        return failed(error);
      } finally {
        reading = false;
      }
    },
    close: () => {
      forget();
      return end(new LinkError("closed", say("plc.closed.gateway")));
    },
  };
}

type Reading = Pick<OpcuaDriverOptions, "address" | "log"> & {
  readonly idle_ms: Milliseconds;
  readonly onFail: (error: LinkError) => void;
};

/** Subscribes if the configuration says so and the server agrees; otherwise each poll reads. */
async function readerOf(server: OpenServer, { address, log, idle_ms, onFail }: Reading): Promise<GroupReader> {
  if (address.mode !== "subscribe") return cyclicReader(server);
  const outcome = await subscribe(server, idle_ms, onFail);
  if ("read" in outcome) return outcome.read;
  const { endpoint } = address;
  const text = `no subscription at ${endpoint}: ${outcome.refused}; each poll asks instead`;
  log?.warn({ event: "opcua_subscription_refused", endpoint, reason: outcome.refused }, text);
  return cyclicReader(server);
}

/** A booth's driver where it shares its link with no other: OPC UA, or one that says why there can't be any. */
export function ownLinkDriver(
  link: Omit<OpcuaDriverOptions, "address" | "profile"> & {
    readonly booth: BoothLink & Pick<BoothConfig, "poll">;
    readonly profile: Profile;
  },
): Driver {
  const { booth, profile, ...options } = link;
  if (booth.opcua !== undefined && profile.protocol === "opcua") {
    // The session's life and the sampling follow the intervals in force, not the profile's own.
    const paced = { ...profile, groups: groupsInForce(profile, booth) };
    return opcuaDriver({ ...options, address: booth.opcua, profile: paced });
  }
  const given = booth.modbus === undefined ? "opcua" : "modbus";
  const reason = `the profile ${profile.name} is for ${profile.protocol}, the booth's link is ${given}`;
  const refuse = (): Promise<never> => Promise.reject(new LinkError("config", reason));
  return { open: refuse, read: refuse, close: () => Promise.resolve() };
}
