import { operationOf } from "../contract/operations.ts";

/** How a request came in: by the agent's socket, by root's, from this machine, or from the network while the page is open there. */
export type Way = "socket" | "admin" | "loopback" | "lan";

/** Through a file of this machine, whose mode says who may. */
export function isSocket(way: Way): boolean {
  return way === "socket" || way === "admin";
}

export interface Knock {
  readonly way: Way;
  readonly method: string;
  readonly path: string;
  /** Headers as they came. */
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly fetch_site: string | undefined;
  /** It carries the token of a session that is open. */
  readonly has_session: boolean;
  /** A file of the page itself: the same for everybody. */
  readonly is_page_file: boolean;
  /** What this machine is called on the network: names and addresses, lower case. */
  readonly own_names: () => ReadonlySet<string>;
}

export interface Refusal {
  readonly status: 401 | 403;
  readonly error: string;
}

const LOOPBACK_NAMES: ReadonlySet<string> = new Set(["127.0.0.1", "localhost", "::1"]);
/** Open to everybody who reaches the port. */
const OPEN = new Set(["POST /api/authenticate", "GET /healthz"]);
/** Open to whoever is on this machine, beside the page's files and the figures of the interface. */
const LOOKS = new Set("/status /events /backlog /metrics /reconcile /rebuild /api/openapi.json".split(" "));

/**
 * Whether a request may be answered at all; null: it may. Over a socket its mode is the right. Elsewhere a browser must
 * not be led here by another site (Host against rebound names, Origin against foreign pages), and what isn't public needs a
 * session: over loopback everything but looking at figures, on the network everything but the page's own files.
 */
export function refusalOf(knock: Knock): Refusal | null {
  if (isSocket(knock.way)) return null;
  return strayOf(knock) ?? (needsSession(knock) && !knock.has_session ? NO_SESSION : null);
}

const NO_SESSION: Refusal = {
  status: 401,
  error: 'not signed in: POST /api/authenticate with the PIN that "booth-gateway page" prints, then send its token',
};

function needsSession({ way, method, path, is_page_file }: Knock): boolean {
  if (is_page_file || OPEN.has(`${method} ${path}`)) return false;
  return way === "lan" || !isLook(method, path);
}

/** Figures, and not what they were made of: readings, the log and reports for helpers are for who is let in. */
function isLook(method: string, path: string): boolean {
  if (method !== "GET" && method !== "HEAD") return false;
  return (
    LOOKS.has(path) ||
    (path.startsWith("/api/") && operationOf("GET", path)?.local?.readings !== true && !EXPLAIN.test(path))
  );
}

/** What a figure was made of. */
export const EXPLAIN = /^\/api\/booths\/[^/]+\/explain$/;

function strayOf({ way, host, origin, fetch_site, path, own_names }: Knock): Refusal | null {
  const name = hostNameOf(host);
  const isOurs = name !== null && (LOOPBACK_NAMES.has(name) || (way === "lan" && own_names().has(name)));
  if (!isOurs) return { status: 403, error: "this box goes by another name: use the address that was printed" };
  const scheme = way === "lan" ? "https" : "http";
  if (origin !== undefined && origin.toLowerCase() !== `${scheme}://${host?.toLowerCase() ?? ""}`) {
    return { status: 403, error: "another site may not ask here" };
  }
  // A link that leads to the page is fine; whatever else another site's page fetches isn't.
  if (fetch_site === "cross-site" && path !== "/") return { status: 403, error: "another site may not ask here" };
  return null;
}

/** Without port and brackets, lower case; null: no host that a browser would send. */
function hostNameOf(host: string | undefined): string | null {
  const found = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::\d{1,5})?$/i.exec(host ?? "");
  return (found?.[1] ?? found?.[2])?.toLowerCase() ?? null;
}
