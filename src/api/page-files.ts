import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Answering } from "./over-tls.ts";
import { bare, flattened, importsOf, joined, pointed } from "./page-modules.ts";

const FOLDER = new URL("./page/", import.meta.url);
/** Folder of the agent's message catalogues, and of the message renderer that page and agent share. */
const MESSAGES = new URL("../domain/messages/", import.meta.url);
/** Folder of the packages with libraries that a view loads on demand. */
const LIBRARIES = new URL("../../node_modules/", import.meta.url);
const JS = "text/javascript; charset=utf-8";
const HTML = "text/html; charset=utf-8";
const CSS = "text/css; charset=utf-8";
const JSON_TYPE = "application/json; charset=utf-8";

/**
 * Path of a file that joins the modules of the first view. A browser that loads six files at a time would need five round trips for the
 * twenty modules.
 */
const FIRST = "/first.js";

/** The page's modules by folder. All are served from a single folder, which is why no two have the same name. */
const MODULES = {
  "": "main ahead",
  "kit/": "api dom format help progress session units",
  "texts/": "texts",
  "charts/": "bars chart measured plot spark stages strip",
  "setup/":
    "barcode begin binding find import-list network plc program scan scanned setup size steps tag-table trial workshop workshop-talk",
  "views/":
    "booths day-figures day-part day-trends days display filter-charts filters health log now period-bars records today",
};

/** Languages that have a file of texts. The page has its own list in ahead.js. */
const LANGUAGES: readonly string[] = ["en", "es", "de"];

interface Source {
  readonly at: URL;
  readonly type: string;
}

/** The page's own files by the path of the request. */
const FILES = new Map<string, Source>();
for (const [path, file, type] of [
  ["/", "index.html", HTML],
  ["/scan", "scan.html", HTML],
  ["/page.css", "page.css", CSS],
  ["/manifest.json", "manifest.json", "application/manifest+json; charset=utf-8"],
  ["/icon.svg", "icon.svg", "image/svg+xml"],
  // This path serves main.js joined with all modules that it imports.
  [FIRST, "main.js", JS],
  ...LANGUAGES.map((name) => [`/${name}.json`, `texts/${name}.json`, JSON_TYPE] as const),
  ...Object.entries(MODULES).flatMap(([folder, names]) =>
    names.split(" ").map((name) => [`/${name}.js`, `${folder}${name}.js`, JS] as const),
  ),
] as const) {
  FILES.set(path, { at: new URL(file, FOLDER), type });
}
FILES.set("/icu.js", { at: new URL("icu.js", MESSAGES), type: JS });
for (const name of LANGUAGES) {
  FILES.set(`/messages-${name}.json`, { at: new URL(`${name}.json`, MESSAGES), type: JSON_TYPE });
}

/** Library files below `node_modules`, by the path of the request. systemd/package lists the same files. */
export const LIBRARY_FILES: Readonly<Record<string, readonly [file: string, type: string]>> = {
  "/uplot.js": ["uplot/dist/uPlot.iife.min.js", JS],
  "/uplot.css": ["uplot/dist/uPlot.min.css", CSS],
  "/zxing/reader/index.js": ["zxing-wasm/dist/es/reader/index.js", JS],
  "/zxing/share.js": ["zxing-wasm/dist/es/share.js", JS],
  "/zxing/reader/zxing_reader.wasm": ["zxing-wasm/dist/reader/zxing_reader.wasm", "application/wasm"],
};

/** All files that can be requested. Nothing else is ever read from the disk. */
const SOURCES: ReadonlyMap<string, Source> = new Map([
  ...FILES,
  ...Object.entries(LIBRARY_FILES).map(
    ([path, [file, type]]) => [path, { at: new URL(file, LIBRARIES), type }] as const,
  ),
]);

/**
 * Security headers of the page. They allow scripts, styles and data from this box only: no inline code, no frames, no forms to other sites.
 */
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

/** Headers of the scanner's document, which alone may open a camera and compile WebAssembly. */
const SCAN_HEADERS = {
  "Content-Security-Policy": PAGE_HEADERS["Content-Security-Policy"].replace(
    "script-src 'self'",
    "script-src 'self' 'wasm-unsafe-eval'",
  ),
  "Permissions-Policy": PAGE_HEADERS["Permissions-Policy"].replace("camera=()", "camera=(self)"),
};

/** Maximum size of a file that is kept in memory. Larger files are read again, because each phone loads them only once. */
const MOST_KEPT_BYTES = 65_536;
const YEAR_S = 31_536_000;
/** A path that starts with the common version of all files. A file under the present version never changes. */
const VERSIONED = /^\/v\/([\w-]+)(\/.+)$/;

const pack = promisify(gzip);
const loaded = new Map<string, ReturnType<typeof entityOf>>();

export function isPageFile(method: string, path: string): boolean {
  return (method === "GET" || method === "HEAD") && SOURCES.has(fileIn(path).file);
}

/** Returns the file's path without the version, and the requested version. */
function fileIn(path: string): { readonly file: string; readonly asked: string | null } {
  const [, asked = null, file = path] = VERSIONED.exec(path) ?? [];
  return { file, asked };
}

interface Wish {
  readonly encodings: string | undefined;
  /** The ETag of the browser's copy. */
  readonly known: string | undefined;
  /** The Accept-Language header. */
  readonly languages: string | undefined;
}

/**
 * Sends a page file, compressed if the browser supports it, or 304 if the browser's copy is current. Under the present version, the browser
 * keeps its copy.
 */
export async function sendPageFile(response: Answering, path: string, wish: Wish): Promise<void> {
  const { file, asked } = fileIn(path);
  const type = typeOf(file);
  const isDocument = type === HTML;
  const language = languageOf(wish.languages);
  const key = isDocument ? `${file} ${language}` : file;
  const { plain, packed, etag } = await loadOnce(key, () =>
    isDocument ? documentOf(file, language) : contentOf(file),
  );
  const isFixed = asked !== null && asked === (await version());
  const common = {
    ETag: etag,
    "Cache-Control": isFixed ? `max-age=${YEAR_S}, immutable` : "no-cache",
    Vary: isDocument ? "Accept-Encoding, Accept-Language" : "Accept-Encoding",
    ...(file === "/scan" ? SCAN_HEADERS : {}),
  };
  if (wish.known === etag) {
    response.writeHead(304, common).end();
    return;
  }
  const isPacked = /\bgzip\b/.test(wish.encodings ?? "");
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

/** Reads and compresses a file at the first request. */
async function loadOnce(key: string, content: () => Promise<Buffer>): ReturnType<typeof entityOf> {
  const entity = loaded.get(key) ?? entityOf(content());
  loaded.set(key, entity);
  if ((await entity).plain.length > MOST_KEPT_BYTES) loaded.delete(key);
  return entity;
}

async function entityOf(content: Promise<Buffer>) {
  const plain = await content;
  return { plain, packed: await pack(plain, { level: 9 }), etag: `"${hashOf([plain])}"` };
}

function typeOf(path: string): string {
  return SOURCES.get(path)?.type ?? "";
}

/**
 * Returns a file's content for the browser, before compression. Joins the modules of the page's first view into one script, and removes the
 * comments from all scripts of the page.
 */
async function contentOf(path: string): Promise<Buffer> {
  if (!FILES.has(path) || typeOf(path) !== JS) return read(path);
  const first = await firstView();
  if (path === FIRST) return Buffer.from(joined(first));
  const text = await textOf(path);
  // Leaves the imports of the first view's modules and of the scanner's modules unchanged. Every other module imports the first view's
  // joined file.
  const isApart = first.has(path) || (await scanner()).has(path);
  return Buffer.from(isApart ? bare(text) : bare(pointed(text, { to: FIRST, instead_of: [...first.keys()] })));
}

const firstView = once(() => modulesOf("/main.js", { without: "/ahead.js" }));
const scanner = once(() => modulesOf("/scan.js"));

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let begun: Promise<T> | undefined;
  return () => (begun ??= make());
}

function read(path: string): Promise<Buffer> {
  return readFile(SOURCES.get(path)?.at ?? path);
}

const textOf = async (path: string): Promise<string> => flattened((await read(path)).toString("utf8"));

function hashOf(parts: readonly Buffer[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest("base64url").slice(0, 22);
}

/** Returns the common version of all files. WebAssembly is left out, because it changes together with its library's scripts. */
const version = once(async () => {
  const paths = [...SOURCES.keys()].filter((path) => !path.endsWith(".wasm"));
  return hashOf(await Promise.all(paths.map(contentOf)));
});

/**
 * Returns a document with versioned file names, and with links to all files of the first view in its head. A browser then loads these files
 * at once instead of one after the other.
 */
async function documentOf(path: string, language: string): Promise<Buffer> {
  const text = (await textOf(path)).replace('"/main.js"', `"${FIRST}"`);
  const scripts = path === "/" ? ["/ahead.js", FIRST] : [...(await scanner()).keys()];
  const texts = language === "en" ? ["/en.json"] : [`/${language}.json`, `/messages-${language}.json`];
  const links = [
    ...scripts.map((name) => `<link rel="modulepreload" href="${name}" />`),
    ...texts.map((name) => `<link rel="preload" as="fetch" crossorigin href="${name}" />`),
  ];
  const whole = text
    .replace("<script", `${links.join("\n    ")}\n    <script`)
    .replaceAll(/"(\/(?:[\w-]+\.(?:js|css)|(?:messages-)?[a-z]{2}\.json))"/g, `"/v/${await version()}$1"`);
  return Buffer.from(whole);
}

/** Returns a module and everything that it imports, by path. Each module comes after its imports. */
async function modulesOf(path: string, { without = "" } = {}): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  const seen = new Set([without]);
  const add = async (name: string): Promise<void> => {
    seen.add(name);
    const text = await textOf(name);
    for (const next of importsOf(text)) if (!seen.has(next)) await add(next);
    found.set(name, text);
  };
  await add(path);
  return found;
}

/**
 * Returns the first language in the Accept-Language header that the page has. If another one was chosen on the page, the browser loads it
 * in addition.
 */
function languageOf(accepted = ""): string {
  const names = accepted.split(",").map((one) => one.trim().slice(0, 2).toLowerCase());
  return names.find((name) => LANGUAGES.includes(name)) ?? "en";
}
