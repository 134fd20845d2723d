import { message } from "../domain/message.ts";
import { errorText } from "../domain/messages/message-error.ts";
import type { BodyOf } from "../contract/local.ts";
import { answerTime } from "../contract/time.ts";
import {
  type Call,
  CLOSING,
  isSocket,
  type LocalAnswer,
  type LocalOperation,
  needed,
  ok,
  type PageListener,
  Refusal,
  type Services,
  type Channel,
} from "./operation.ts";

/** Opens a session for the PIN, which is sent in the field `api_key`, as the service's own operation expects its key. */
export function authenticate(call: Call<BodyOf<"authenticate">>, { sessions, control }: Services): LocalAnswer {
  const entry = needed(sessions, message("ask.lacks.sessions")).enter(call.body().api_key, call);
  switch (entry.kind) {
    case "open": {
      const expires_at = answerTime(control.status().at + entry.for_ms);
      // Tells the browser to store the token beyond the life of the tab.
      const headers = entry.is_kept ? { "Session-Kept": "true" } : {};
      return { ...ok({ session_token: entry.token, expires_at }), headers };
    }
    case "wrong":
      throw new Refusal(401, message("ask.wrong_pin", { left: entry.left }));
    case "closed":
      throw new Refusal(401, message("ask.no_pin"));
    case "locked":
    case "busy": {
      const after_s = Math.ceil(entry.for_ms / 1000);
      const minutes = Math.ceil(after_s / 60);
      const later = minutes > 1 ? message("ask.pin_much_later", { minutes }) : message("ask.pin_later");
      const error = entry.kind === "locked" ? message("ask.locked", { minutes }) : later;
      throw new Refusal(429, error, { "Retry-After": after_s.toString() });
    }
  }
}

function pageOf({ page }: Services): PageListener {
  return needed(page, message("ask.lacks.page_served"));
}

/** Returns the addresses at which the page can be opened. */
export function pageState(_: Call, services: Services): LocalAnswer {
  return ok(pageOf(services).state());
}

/** Makes a PIN and opens the page, on request also on the network; or closes both. */
export async function openOrClosePage(call: Call<BodyOf<"page">>, services: Services): Promise<LocalAnswer> {
  const page = pageOf(services);
  const { close, ...how } = call.body();
  if (close) {
    page.close();
    return ok(page.state());
  }
  try {
    return ok(await page.open(how));
  } catch (error) {
    throw new Refusal(409, errorText(error));
  }
}

/** Returns whether the page stays open on the network, and the devices whose sessions are stored. */
export function networkState({ token }: Pick<Call, "token">, services: Services): LocalAnswer {
  return ok(pageOf(services).network(token));
}

/** Opens the page on the network permanently, with the PIN on the box's label, or closes it again. */
export async function keepOpen(call: Call<BodyOf<"page_network">>, services: Services): Promise<LocalAnswer> {
  await pageOf(services).keepOpen(call.body().always);
  return networkState(call, services);
}

/** Ends the stored session of a device. */
export function endSession(call: Call<BodyOf<"page_session_end">>, services: Services): LocalAnswer {
  if (!pageOf(services).endSession(call.body().id)) throw new Refusal(404, message("ask.no_device"));
  return networkState(call, services);
}

/** The part of a request that decides whether it may be answered. */
export interface Knock {
  readonly channel: Channel;
  /** The lowest right that the operation needs. */
  readonly least: LocalOperation["access"];
  /** Request headers, unchanged. */
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly fetch_site: string | undefined;
  /** Whether the request has the token of an open session. */
  readonly has_session: boolean;
  /** Whether the request is for the page's document, not for a file that the page loads. */
  readonly is_front: boolean;
  /** Returns the names and addresses of this machine on the network, in lower case. */
  readonly own_names: () => ReadonlySet<string>;
}

const LOOPBACK_NAMES: ReadonlySet<string> = new Set(["127.0.0.1", "localhost", "::1"]);

/**
 * Returns the reason to reject a request, or null to answer it. Requests over a socket are answered, because the mode of the socket's file
 * decides who may use it. Other requests are checked against abuse of a browser by another site: the Host header against DNS rebinding, the
 * Origin header against foreign pages. They also need a session, except over loopback to read figures, and except for the page's own files.
 */
export function refusalOf(knock: Knock): Refusal | null {
  const { channel, least, has_session } = knock;
  if (isSocket(channel)) return null;
  const needsSession = least !== "anyone" && (channel === "lan" || least !== "loopback");
  return (
    foreignRefusal(knock) ??
    (needsSession && !has_session ? new Refusal(401, message("ask.no_session"), CLOSING) : null)
  );
}

function foreignRefusal({ channel, host, origin, fetch_site, is_front, own_names }: Knock): Refusal | null {
  const name = hostNameOf(host);
  const isOurs = name !== null && (LOOPBACK_NAMES.has(name) || (channel === "lan" && own_names().has(name)));
  if (!isOurs) return new Refusal(403, message("ask.other_name"), CLOSING);
  const scheme = channel === "lan" ? "https" : "http";
  const isForeign = origin !== undefined && origin.toLowerCase() !== `${scheme}://${host?.toLowerCase() ?? ""}`;
  // Allows other sites to link to the page's document, but not to fetch anything.
  const isFetched = isForeign || (fetch_site === "cross-site" && !is_front);
  return isFetched ? new Refusal(403, message("ask.other_site"), CLOSING) : null;
}

/** Returns the host name without port and brackets, in lower case; null if no browser would send such a header. */
function hostNameOf(host: string | undefined): string | null {
  const found = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::\d{1,5})?$/i.exec(host ?? "");
  return (found?.[1] ?? found?.[2])?.toLowerCase() ?? null;
}
