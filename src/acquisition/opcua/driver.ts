import { LinkError } from "../../domain/link-error.ts";
import type { OpcuaAddress } from "../../config/port.ts";
import type { OpcuaProfile } from "../../domain/profile.ts";
import type { EpochMs, Milliseconds } from "../../domain/units.ts";
import type { Driver, PlcPasswords } from "../port.ts";
import type { Logger } from "../../domain/machine.ts";
import { type Channel, secureChannel } from "./channel.ts";
import { connectSession } from "./connect.ts";
import { cyclicReader, type GroupReader } from "./cyclic.ts";
import { type Opcua, opcuaLibrary } from "./library.ts";
import { withPasswords } from "./login.ts";
import { resolveTags } from "./nodes.ts";
import type { OpcuaPki } from "./pki.ts";
import type { Session } from "./session.ts";
import { subscribe, type SubscribeParts } from "./subscribe.ts";

export interface OpcuaTimeouts {
  /** Until a secure channel stands, each time; 5000. */
  readonly connect_ms?: Milliseconds;
  /** From one request to the end of its answer; 5000. */
  readonly answer_ms?: Milliseconds;
  /** How long close() waits for the server to forget the session; 500. */
  readonly farewell_ms?: Milliseconds;
  /** How long the channel's keys are used, at most; an hour. */
  readonly keys_ms?: Milliseconds;
}

export interface OpcuaDriverOptions {
  readonly address: OpcuaAddress;
  readonly profile: OpcuaProfile;
  /** Shared by all links of the gateway. */
  readonly pki: OpcuaPki;
  /** For the expiry of certificates alone. */
  readonly wall: () => EpochMs;
  readonly timeouts?: OpcuaTimeouts;
  /** Of a user whose password no file holds: each is tried, in their order. */
  readonly passwords?: PlcPasswords;
  /** Told where a subscription was wanted and polls ask instead. */
  readonly log?: Logger;
}

const DEFAULT_CONNECT_MS = 5000;
const DEFAULT_ANSWER_MS = 5000;
const DEFAULT_FAREWELL_MS = 500;
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
  const { address, profile, timeouts = {} } = options;
  const connect_ms = timeouts.connect_ms ?? DEFAULT_CONNECT_MS;
  const answer_ms = timeouts.answer_ms ?? DEFAULT_ANSWER_MS;
  let channel: Channel | null = null;
  let session: Session | null = null;
  let reader: GroupReader | null = null;
  let ended: LinkError | null = null;
  let reading = false;
  const end = (error: LinkError): void => {
    ended ??= error;
    channel?.end(error);
  };
  const goOn = (): void => {
    if (ended !== null) throw ended;
  };
  const newChannel = (opcua: Opcua, more: Pick<Parameters<typeof secureChannel>[1], "policy">): Channel => {
    goOn();
    const { keys_ms } = timeouts;
    const rest = { ...(keys_ms === undefined ? {} : { keys_ms }), connect_ms, answer_ms };
    channel = secureChannel(opcua, { ...more, ...rest, endpoint: address.endpoint });
    return channel;
  };
  const open = async (): Promise<void> => {
    const opcua = await opcuaLibrary();
    goOn();
    const idle_ms = idleOf(profile);
    const connecting = { opcua, address, pki: options.pki, idle_ms, now: options.wall() };
    session = await withPasswords(address, options.passwords, (password) =>
      connectSession({ ...connecting, password, newChannel: (more) => newChannel(opcua, more) }),
    );
    const wanted = { tags: profile.tags, max_nodes_per_read: profile.quirks.max_nodes_per_read };
    const resolved = await resolveTags(opcua, session, wanted);
    const insecure = address.security_policy === "None";
    const parts = { opcua, session, profile, resolved, insecure };
    reader = address.mode === "subscribe" ? await subscribed({ ...parts, idle_ms, onFail: end }) : cyclicReader(parts);
  };
  const subscribed = async (parts: SubscribeParts): Promise<GroupReader> => {
    const outcome = await subscribe(parts);
    if ("read" in outcome) return outcome.read;
    const { endpoint } = address;
    const text = `no subscription at ${endpoint}: ${outcome.refused}; each poll asks instead`;
    options.log?.warn({ event: "opcua_subscription_refused", endpoint, reason: outcome.refused }, text);
    return cyclicReader(parts);
  };
  const read: GroupReader = async (group) => {
    goOn();
    if (reader === null) throw new LinkError("closed", "the connection is not open");
    return reader(group);
  };

  return {
    open: (signal) => guarded({ end, signal, ended: () => ended }, open),
    read: async (group, signal) => {
      // A second caller's mistake must not cost the first one its connection.
      if (reading) throw new LinkError("config", "a read is already under way");
      reading = true;
      try {
        return await guarded({ end, signal, ended: () => ended }, () => read(group));
      } finally {
        reading = false;
      }
    },
    close: async () => {
      // In the middle of something there is nobody to say farewell to: the connection is cut.
      if (ended === null && session !== null && !reading) await farewell(session, timeouts.farewell_ms);
      end(new LinkError("closed", "closed by the gateway"));
    },
  };
}

function idleOf({ groups }: OpcuaProfile): Milliseconds {
  const shortest = Math.min(...Object.values(groups).map(({ poll_interval_ms }) => poll_interval_ms));
  return Math.max(MIN_IDLE_MS, IDLE_POLLS * shortest);
}

interface Guard {
  readonly end: (error: LinkError) => void;
  readonly signal: AbortSignal;
  readonly ended: () => LinkError | null;
}

/** An abort ends the connection; so does every failure, and the first reason is the one that counts. */
async function guarded<T>({ end, signal, ended }: Guard, act: () => Promise<T>): Promise<T> {
  const abort = (): void => {
    const late = signal.reason instanceof DOMException && signal.reason.name === "TimeoutError";
    end(new LinkError(late ? "timeout" : "closed", "given up by the gateway", signal.reason));
  };
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await act();
  } catch (error) {
    end(error instanceof LinkError ? error : new LinkError("malformed", "an answer that can't be understood", error));
    throw ended() ?? error;
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

async function farewell(session: Session, farewell_ms: Milliseconds = DEFAULT_FAREWELL_MS): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, farewell_ms);
  });
  // A server that is gone needs no farewell; the connection is cut in any case.
  await Promise.race([session.close().catch(() => undefined), patience]);
  clearTimeout(timer);
}
