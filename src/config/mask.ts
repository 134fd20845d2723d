/** Matches a URL up to its closing quote, or without quotes to the end of its value. */
const ADDRESS = /([A-Za-z][A-Za-z0-9+.-]*:\/\/)([^"'\s,)}\]][^\n"']*?)(?=["'\n]|,\s|\s*[}\]]|\s#|$)/g;
/** Matches the part of a URL that may be shown: host and port. PORT is a placeholder in the agent's own messages. */
const PLAIN_HOST = /^(?:[A-Za-z0-9.-]+|\[[0-9a-fA-F:.]+\])(?::(?:\d+|PORT))?(?=$|[/?#\s;:)])/;
/** Matches a key whose name suggests a secret, with its value, in any YAML style. */
const SECRET_KEY =
  /(["']?)([A-Za-z0-9_-]*(?:passw(?:or)?d|passphrase|secret|token|credential|authorization|api_?key|(?:^|_)pin|_key))\1(\s*:\s+)("[^"\n]*"?|'[^'\n]*'?|[^,}\n#]+)/gi;
/** Matches a key whose value is a URL, together with that value. The URL may lack its scheme. */
const ADDRESS_KEY = /(["']?)([A-Za-z0-9_-]*(?:url|endpoint))\1(\s*:\s+)("[^"\n]*"?|'[^'\n]*'?|[^,}\n#[]+)/gi;
/**
 * Matches the key of a secret's file. A path is not a secret, but a value without a slash may be the secret itself, entered at the wrong
 * key.
 */
const FILE_KEY =
  /(["']?)([A-Za-z0-9_-]*(?:passw(?:or)?d|secret|token|key|pin)_file)\1(\s*:\s+)("[^"\n]*"?|'[^'\n]*'?|[^,}\n#]+)/gi;

/**
 * Hides possible secrets in a line of a configuration file, or in a message that quotes such a line. Each hidden character becomes an
 * asterisk, so the caret under a line still points at its column.
 */
export function masked(text: string): string {
  return text
    .replaceAll(ADDRESS, (_, scheme: string, rest: string) => scheme + maskedAddress(rest))
    .replaceAll(ADDRESS_KEY, (...found: readonly string[]) =>
      (found[4] ?? "").includes("://") ? (found[0] ?? "") : maskedValue(...found),
    )
    .replaceAll(SECRET_KEY, maskedValue)
    .replaceAll(FILE_KEY, (...found: readonly string[]) =>
      (found[4] ?? "").includes("/") ? (found[0] ?? "") : maskedValue(...found),
    );
}

/** Masks a URL after its scheme. Keeps the host, unless the URL may contain a user name and password. */
function maskedAddress(rest: string): string {
  const host = rest.includes("@") ? "" : (PLAIN_HOST.exec(rest)?.[0] ?? "");
  const after = rest.slice(host.length);
  // Keeps words after the URL, because they are the rest of a sentence.
  return /^[/?#]?(?:$|[\s;:)])/.test(after) && host !== "" ? rest : host + stars(after);
}

function maskedValue(...[whole, quote, key, between, value]: readonly string[]): string {
  const trimmed = value?.trimEnd() ?? "";
  if (trimmed === "" || trimmed === "null" || trimmed === "~") return whole ?? "";
  const end = value?.slice(trimmed.length) ?? "";
  return `${quote ?? ""}${key ?? ""}${quote ?? ""}${between ?? ""}${stars(trimmed)}${end}`;
}

function stars(text: string): string {
  return text.replaceAll(/[^\s"']/g, "*");
}
