import { message, isMessage } from "../../domain/message.ts";
import { MessageError } from "../../domain/messages/message-error.ts";
import { LinkError } from "../../domain/link-error.ts";
import type { OpcuaPolicy } from "../../config/port.ts";
import type { Milliseconds } from "../../domain/units.ts";
import type { KeyProvider, Opcua, Request, Response, SecureChannel, Transport } from "./library.ts";
import { uacpTransport } from "./transport.ts";

export interface ChannelOptions {
  readonly endpoint: string;
  readonly policy: OpcuaPolicy;
  /** The server's certificate, DER, for every policy but None. Only its owner can answer. */
  readonly certificate?: Buffer;
  readonly keys?: KeyProvider;
  /** Deadline of opening the channel. */
  readonly connect_ms: Milliseconds;
  /** Longest time from a request to the last byte of its answer. */
  readonly answer_ms: Milliseconds;
  /** Lifetime of the channel's keys; default 3,600,000. The library renews them after three quarters of that time. */
  readonly keys_ms: Milliseconds | undefined;
}

/** Options for a request and its answer. */
export interface Asking {
  /**
   * Slot of the request. Requests in different slots run at the same time. publish: the server answers when there are changes. aside:
   * requests that may take long. farewell: closes the session, even while another request is pending.
   */
  readonly slot?: "request" | "publish" | "aside" | "farewell";
  /** Deadline of the answer. Absent: `answer_ms`. */
  readonly within_ms?: Milliseconds;
  /**
   * True: at the deadline, the request rejects with an Overdue and the channel stays open. Answers carry numbers, so a late answer is
   * ignored.
   */
  readonly survives?: boolean;
  /** True: a refusal by the server rejects with a RefusedService, and the channel stays open. */
  readonly tolerant?: boolean;
}

/**
 * The server refused one service, but the channel stays open. `cause` is the LinkError that the request would reject with if it weren't
 * `tolerant`.
 */
export class RefusedService extends MessageError {
  override readonly name = "RefusedService";
}

/** The answer didn't arrive in time, but the channel stays open. */
export class Overdue extends MessageError {
  override readonly name = "Overdue";
}

const KEYS_MS = 3_600_000;
/** Maximum number of expired requests. A server that leaves more requests unanswered has more than one slow variable. */
const MAX_FORGOTTEN = 20;
/** Timeout in the library. It exceeds our own deadlines, because at its own timeouts the library leaves the connection open. */
const LIBRARY_TIMEOUT_MS = 3_600_000;

export type Answer<R> = abstract new (...args: never[]) => R;

type Perform = (request: Request, done: (error: Error | null, response?: Response) => void) => void;

type Slot = NonNullable<Asking["slot"]>;

interface Waiting extends Pick<Asking, "survives"> {
  readonly slot: Slot;
  readonly ms: Milliseconds;
  readonly what: string;
}

interface Pending extends PromiseWithResolvers<Response | null> {
  readonly timer: NodeJS.Timeout;
}

export type Channel = ReturnType<typeof secureChannel>;

/**
 * A secure channel over one TCP connection. It is opened once, ended once, and runs one request at a time in each slot. Every promise
 * settles: with an answer, or with an error. A LinkError comes at the deadline, when the peer closes, at the first wrong byte, or when
 * `end` is called. A LinkError means that the channel has ended; after an Overdue or a RefusedService it is still open.
 */
export function secureChannel(opcua: Opcua, options: ChannelOptions) {
  const pending = new Map<Slot, Pending>();
  /** Number of expired requests whose answers can still arrive. */
  let forgotten = 0;
  let ended: LinkError | null = null;
  const take = (slot: Slot): Pending | undefined => {
    const taken = pending.get(slot);
    pending.delete(slot);
    clearTimeout(taken?.timer);
    return taken;
  };
  const end = (error: LinkError): void => {
    if (ended !== null) return;
    ended = error;
    wire.end(error);
    for (const slot of [...pending.keys()]) take(slot)?.reject(error);
    channel.dispose();
  };
  const wire = uacpTransport(end, () => pending.size + forgotten > 0);
  const channel = channelOver(opcua, options, () => wire.transport);
  // Casts the request, because the library's parameter type excludes some requests that it accepts.
  const perform: Perform = (...asked) =>
    channel.performMessageTransaction(...(asked as unknown as Parameters<typeof channel.performMessageTransaction>));
  const begin = ({ slot, ms, what, survives = false }: Waiting, action: () => void): Promise<Response | null> => {
    if (ended !== null || pending.has(slot)) {
      return Promise.reject(ended ?? new LinkError("config", message("plc.setup.under_way")));
    }
    const answer = Promise.withResolvers<Response | null>();
    const late = (): void => {
      const text = message("plc.no_within", { what, ms });
      if (!survives || ++forgotten > MAX_FORGOTTEN) end(new LinkError("timeout", text));
      else take(slot)?.reject(new Overdue(text));
    };
    pending.set(slot, { ...answer, timer: setTimeout(late, ms) });
    try {
      action();
    } catch (cause) {
      end(new LinkError("config", message("plc.opcua.not_sent"), cause));
    }
    return answer.promise;
  };

  return {
    /** Ends the connection. Pending and later requests reject with the first reason. */
    end,
    open: async (): Promise<void> => {
      await begin({ slot: "request", ms: options.connect_ms, what: "connection" }, () =>
        channel.create(options.endpoint, (error) => {
          if (!error) take("request")?.resolve(null);
          else end(serviceFault(opcua, error) ?? faultOf(error));
        }),
      );
    },
    /**
     * Sends a request. Returns the answer, which has the given class. Unless `tolerant`, a service fault of the server ends the channel.
     */
    ask: async <R>(request: Request, answer: Answer<R>, asking: Asking = {}): Promise<R> => {
      const { slot = "request", within_ms = options.answer_ms, tolerant = false, survives = false } = asking;
      const what = slot === "publish" ? "notification" : "answer";
      const response = await begin({ slot, ms: within_ms, what, survives }, () => {
        const own = pending.get(slot);
        perform(request, (error, came) => {
          const refusal = error === null ? refusalOf(came) : serviceFault(opcua, error);
          if (pending.get(slot) !== own) forgotten -= 1;
          else if (refusal !== null && tolerant) take(slot)?.reject(new RefusedService(refusal.text, refusal));
          else if (refusal !== null || error !== null) end(refusal ?? faultOf(error));
          else take(slot)?.resolve(came ?? null);
        });
      });
      if (response instanceof answer) return response;
      const error = new LinkError("malformed", message("plc.opcua.other_answer"));
      end(error);
      throw error;
    },
  };
}

function channelOver(opcua: Opcua, options: ChannelOptions, create: () => Transport): SecureChannel {
  const { policy, certificate, keys, keys_ms = KEYS_MS } = options;
  return new opcua.ClientSecureChannelLayer({
    connectionStrategy: { maxRetry: 0, initialDelay: 1000, maxDelay: 1000, randomisationFactor: 0 },
    defaultSecureTokenLifetime: keys_ms,
    defaultTransactionTimeout: LIBRARY_TIMEOUT_MS,
    transportTimeout: LIBRARY_TIMEOUT_MS,
    tokenRenewalInterval: 0,
    securityPolicy: opcua.SecurityPolicy[policy],
    securityMode: policy === "None" ? opcua.MessageSecurityMode.None : opcua.MessageSecurityMode.SignAndEncrypt,
    transportSettings: {},
    transportFactory: { create },
    ...(certificate === undefined ? {} : { serverCertificate: certificate }),
    ...(keys === undefined ? {} : { parent: keys }),
  });
}

/** Finds a refusal in the answer of the service itself. */
function refusalOf(response: Response | undefined): LinkError | null {
  const result = response?.responseHeader.serviceResult;
  return result !== undefined && result.value >>> 30 >= BAD ? statusError(result.name) : null;
}

/** Severity of a bad status. The two highest bits of a status code are: 0 good, 1 uncertain, 2 and 3 bad. */
const BAD = 2;

/** Finds the server's refusal in an error of the library; null: the error has another cause. */
function serviceFault(opcua: Opcua, error: Error): LinkError | null {
  const response = "response" in error ? error.response : undefined;
  return response instanceof opcua.ServiceFault ? statusError(response.responseHeader.serviceResult.name) : null;
}

/** Converts an error of the library to a LinkError. */
function faultOf(error: Error | null): LinkError {
  if (error instanceof LinkError) return error;
  return new LinkError("malformed", message("plc.opcua.no_channel"), error ?? undefined);
}

/** Returns whether the server refused the login, so that another password may be accepted. */
export function isLoginRefused(error: unknown): error is LinkError {
  return error instanceof LinkError && isMessage(error.text) && error.text.code === "plc.opcua.login_refused";
}

/** Converts the refusal of a service to a LinkError. `name` is the standard's name of the status code. */
function statusError(name: string): LinkError {
  if (BUSY.test(name)) return new LinkError("busy", message("plc.opcua.room", { name }));
  if (LOGIN.test(name)) return new LinkError("config", message("plc.opcua.login_refused", { name }));
  if (TRUST.test(name)) return new LinkError("config", message("plc.opcua.refuses_us", { name }));
  if (OVER.test(name)) return new LinkError("closed", message("plc.opcua.session_ended", { name }));
  return new LinkError("malformed", message("plc.opcua.refuses_request", { name }));
}

const BUSY =
  /^Bad(TooManySessions|TcpServerTooBusy|TcpNotEnoughResources|OutOfMemory|ResourceUnavailable|ServerHalted|Shutdown)$/;
const LOGIN = /^Bad(IdentityTokenRejected|IdentityTokenInvalid|UserAccessDenied|UserSignatureInvalid)$/;
const TRUST = /^Bad(Certificate|SecurityChecksFailed|ApplicationSignature)/;
const OVER =
  /^Bad(SessionIdInvalid|SessionClosed|SessionNotActivated|NoSubscription|SubscriptionIdInvalid|Timeout|SecureChannelIdInvalid|SecureChannelClosed|SecureChannelTokenUnknown)$/;
