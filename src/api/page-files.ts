import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { promisify } from "node:util";
import { gzip } from "node:zlib";

const FOLDER = new URL("./page/", import.meta.url);
const JS = "text/javascript; charset=utf-8";

const SCRIPTS =
  "main api dom texts en es de display format session strip now booths days day-figures day-part filters setup begin find program trial binding steps size plc health";

/** By path: file and type. Nothing else is ever read for a request. */
const FILES: Readonly<Record<string, readonly [file: string, type: string]>> = {
  "/": ["index.html", "text/html; charset=utf-8"],
  "/page.css": ["page.css", "text/css; charset=utf-8"],
  "/icon.svg": ["icon.svg", "image/svg+xml"],
  ...Object.fromEntries(SCRIPTS.split(" ").map((name) => [`/${name}.js`, [`${name}.js`, JS]])),
};

/** Scripts, styles and data from this box alone; nothing inline, no frames, no forms that lead elsewhere. */
export const PAGE_HEADERS = {
  "Content-Security-Policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
} as const;

const pack = promisify(gzip);
const loaded = new Map<string, ReturnType<typeof load>>();

export function isPageFile(method: string, path: string): boolean {
  return (method === "GET" || method === "HEAD") && Object.hasOwn(FILES, path);
}

/** Sends one of the page's files, packed where the browser takes that; 304 where it has it already. */
export async function sendPageFile(
  response: ServerResponse,
  path: string,
  headers: { readonly encodings: string | undefined; readonly known: string | undefined },
): Promise<void> {
  const { type, plain, packed, etag } = await fileOf(path);
  const common = { ETag: etag, "Cache-Control": "no-cache", Vary: "Accept-Encoding" };
  if (headers.known === etag) {
    response.writeHead(304, common).end();
    return;
  }
  const isPacked = /\bgzip\b/.test(headers.encodings ?? "");
  const body = isPacked ? packed : plain;
  response
    .writeHead(200, {
      ...common,
      ...(isPacked ? { "Content-Encoding": "gzip" } : {}),
      "Content-Type": type,
      "Content-Length": body.length,
    })
    .end(body);
}

/** Read and packed once, when it is first asked for. */
function fileOf(path: string): ReturnType<typeof load> {
  const known = loaded.get(path) ?? load(path);
  loaded.set(path, known);
  return known;
}

async function load(path: string) {
  const [file, type] = FILES[path] ?? ["", ""];
  const plain = await readFile(new URL(file, FOLDER));
  const etag = `"${createHash("sha256").update(plain).digest("base64url").slice(0, 22)}"`;
  return { type, plain, packed: await pack(plain, { level: 9 }), etag };
}
