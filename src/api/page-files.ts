import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { promisify } from "node:util";
import { gzip } from "node:zlib";

const FOLDER = new URL("./page/", import.meta.url);
/** Libraries that a view loads when it needs them, as their packages have them. */
const LIBRARIES = new URL("../../node_modules/", import.meta.url);
const JS = "text/javascript; charset=utf-8";
const HTML = "text/html; charset=utf-8";
const CSS = "text/css; charset=utf-8";

const SCRIPTS =
  "main api network dom texts en es de display format units session chart measured spark stages strip today now booths days day-figures day-part day-trends bars period-bars plot filters filter-charts setup begin find program trial binding steps size plc health scan barcode scanned workshop workshop-talk";

/** By path: file and type. Nothing else is ever read for a request. */
const FILES: Readonly<Record<string, readonly [file: string, type: string]>> = {
  "/": ["index.html", HTML],
  "/scan": ["scan.html", HTML],
  "/page.css": ["page.css", CSS],
  "/manifest.json": ["manifest.json", "application/manifest+json; charset=utf-8"],
  "/icon.svg": ["icon.svg", "image/svg+xml"],
  ...Object.fromEntries(SCRIPTS.split(" ").map((name) => [`/${name}.js`, [`${name}.js`, JS]])),
};

/** By path, below the libraries; what the package brings of them is listed where it is made (systemd/package). */
export const LIBRARY_FILES: Readonly<Record<string, readonly [file: string, type: string]>> = {
  "/uplot.js": ["uplot/dist/uPlot.iife.min.js", JS],
  "/uplot.css": ["uplot/dist/uPlot.min.css", CSS],
  "/zxing/reader/index.js": ["zxing-wasm/dist/es/reader/index.js", JS],
  "/zxing/share.js": ["zxing-wasm/dist/es/share.js", JS],
  "/zxing/reader/zxing_reader.wasm": ["zxing-wasm/dist/reader/zxing_reader.wasm", "application/wasm"],
};

/** Scripts, styles and data from this box alone; nothing inline, no frames, no forms that lead elsewhere. */
export const PAGE_HEADERS = {
  "Content-Security-Policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; manifest-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
} as const;

/** The one document that opens a camera and compiles a library's WebAssembly. */
const SCAN_HEADERS = {
  "Content-Security-Policy": PAGE_HEADERS["Content-Security-Policy"].replace(
    "script-src 'self'",
    "script-src 'self' 'wasm-unsafe-eval'",
  ),
  "Permissions-Policy": PAGE_HEADERS["Permissions-Policy"].replace("camera=()", "camera=(self)"),
};

/** What is larger isn't kept in memory: it is asked for once a phone, by the day. */
const MOST_KEPT_BYTES = 65_536;

const pack = promisify(gzip);
const loaded = new Map<string, ReturnType<typeof load>>();

export function isPageFile(method: string, path: string): boolean {
  return (method === "GET" || method === "HEAD") && (Object.hasOwn(FILES, path) || Object.hasOwn(LIBRARY_FILES, path));
}

/** Sends one of the page's files, packed where the browser takes that; 304 where it has it already. */
export async function sendPageFile(
  response: ServerResponse,
  path: string,
  headers: { readonly encodings: string | undefined; readonly known: string | undefined },
): Promise<void> {
  const { type, plain, packed, etag } = await fileOf(path);
  const common = {
    ...{ ETag: etag, "Cache-Control": "no-cache", Vary: "Accept-Encoding" },
    ...(path === "/scan" ? SCAN_HEADERS : {}),
  };
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
async function fileOf(path: string): ReturnType<typeof load> {
  const known = loaded.get(path) ?? load(path);
  loaded.set(path, known);
  const file = await known;
  if (file.plain.length > MOST_KEPT_BYTES) loaded.delete(path);
  return file;
}

async function load(path: string) {
  const [file, type] = FILES[path] ?? LIBRARY_FILES[path] ?? ["", ""];
  const plain = await readFile(new URL(file, Object.hasOwn(FILES, path) ? FOLDER : LIBRARIES));
  const etag = `"${createHash("sha256").update(plain).digest("base64url").slice(0, 22)}"`;
  return { type, plain, packed: await pack(plain, { level: 9 }), etag };
}
