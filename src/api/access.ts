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
  type Way,
} from "./operation.ts";

/** Opens a session for the PIN, which is sent as `api_key` as at the service. */
export function authenticate(call: Call<BodyOf<"authenticate">>, { sessions, control }: Services): LocalAnswer {
  const entry = needed(sessions, message("ask.lacks.sessions")).enter(call.body().api_key, call);
  switch (entry.kind) {
    case "open": {
      const expires_at = answerTime(control.status().at + entry.for_ms);
      // Tells a browser to keep the token beyond its tab.
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

/** Returns the addresses of the page. */
export function pageState(_: Call, services: Services): LocalAnswer {
  return ok(pageOf(services).state());
}

/** Makes a PIN and opens the page on the network, or closes it. */
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

/** Returns whether the page stays open on the network, and the devices with kept sessions. */
export function networkState({ token }: Pick<Call, "token">, services: Services): LocalAnswer {
  return ok(pageOf(services).network(token));
}

/** Opens the page on the network permanently, by the PIN on the box's label, or ends that. */
export async function keepOpen(call: Call<BodyOf<"page_network">>, services: Services): Promise<LocalAnswer> {
  await pageOf(services).keepOpen(call.body().always);
  return networkState(call, services);
}

/** Ends the kept session of a device. */
export function endSession(call: Call<BodyOf<"page_session_end">>, services: Services): LocalAnswer {
  if (!pageOf(services).endSession(call.body().id)) throw new Refusal(404, message("ask.no_device"));
  return networkState(call, services);
}

/** The part of a request that decides whether it may be answered. */
export interface Knock {
  readonly way: Way;
  /** The least right that the operation needs. */
  readonly least: LocalOperation["way"];
  /** Headers as they came. */
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly fetch_site: string | undefined;
  /** It carries the token of an open session. */
  readonly has_session: boolean;
  /** It asks for the page itself, not for a file that the page loads. */
  readonly is_front: boolean;
  /** Names and addresses of this machine on the network, in lower case. */
  readonly own_names: () => ReadonlySet<string>;
}

const LOOPBACK_NAMES: ReadonlySet<string> = new Set(["127.0.0.1", "localhost", "::1"]);

/**
 * Returns why a request may not be answered; null: it may. Over a socket, the mode of its file decides. Elsewhere another site must not
 * be able to use a browser here (Host is checked against rebound names, Origin against foreign pages), and all that isn't public needs
 * a session: over loopback everything except reading figures, on the network everything except the page's own files.
 */
export function refusalOf(knock: Knock): Refusal | null {
  const { way, least, has_session } = knock;
  if (isSocket(way)) return null;
  const needsSession = least !== "anyone" && (way === "lan" || least !== "loopback");
  return (
    foreignRefusal(knock) ??
    (needsSession && !has_session ? new Refusal(401, message("ask.no_session"), CLOSING) : null)
  );
}

function foreignRefusal({ way, host, origin, fetch_site, is_front, own_names }: Knock): Refusal | null {
  const name = hostNameOf(host);
  const isOurs = name !== null && (LOOPBACK_NAMES.has(name) || (way === "lan" && own_names().has(name)));
  if (!isOurs) return new Refusal(403, message("ask.other_name"), CLOSING);
  const scheme = way === "lan" ? "https" : "http";
  const isForeign = origin !== undefined && origin.toLowerCase() !== `${scheme}://${host?.toLowerCase() ?? ""}`;
  // Another site may link to the page; it may fetch nothing.
  const isFetched = isForeign || (fetch_site === "cross-site" && !is_front);
  return isFetched ? new Refusal(403, message("ask.other_site"), CLOSING) : null;
}

/** Returns the host without port and brackets in lower case; null if a browser would not send it. */
function hostNameOf(host: string | undefined): string | null {
  const found = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::\d{1,5})?$/i.exec(host ?? "");
  return (found?.[1] ?? found?.[2])?.toLowerCase() ?? null;
}
