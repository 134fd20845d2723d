import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Answering } from "./over-tls.ts";
import { bare, flattened, importsOf, joined, pointed } from "./page-modules.ts";

const FOLDER = new URL("./page/", import.meta.url);
/** Libraries that a view loads when it needs them, as their packages have them. */
const LIBRARIES = new URL("../../node_modules/", import.meta.url);
const JS = "text/javascript; charset=utf-8";
const HTML = "text/html; charset=utf-8";
const CSS = "text/css; charset=utf-8";

/** The first view in one file: a browser that asks six questions at once would need five turns for its twenty modules. */
const FIRST = "/first.js";

/** The modules by folder. They are served as one folder, so no two have the same name. */
const MODULES = {
  "": "main ahead",
  "kit/": "api dom format help session units",
  "texts/": "texts en es de",
  "charts/": "bars chart measured plot spark stages strip",
  "setup/": "barcode begin binding find network plc program scan scanned setup size steps trial workshop workshop-talk",
  "views/": "booths day-figures day-part day-trends days display filter-charts filters health now period-bars today",
};

/** Each a file of texts; the page's own list is in ahead.js. */
const LANGUAGES: readonly string[] = ["en", "es", "de"];

/** By path: file and type. Nothing else is ever read for a request. */
const FILES: Readonly<Record<string, readonly [file: string, type: string]>> = {
  "/": ["index.html", HTML],
  "/scan": ["scan.html", HTML],
  "/page.css": ["page.css", CSS],
  "/manifest.json": ["manifest.json", "application/manifest+json; charset=utf-8"],
  "/icon.svg": ["icon.svg", "image/svg+xml"],
  ...Object.fromEntries(
    Object.entries(MODULES).flatMap(([folder, names]) =>
      names.split(" ").map((name) => [`/${name}.js`, [`${folder}${name}.js`, JS]]),
    ),
  ),
  // What main.js and all that it imports are, in one.
  [FIRST]: ["main.js", JS],
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
const YEAR_S = 31_536_000;
/** Below this the files stand once more, by what they all hold together: under that name they never change. */
const VERSIONED = /^\/v\/([\w-]+)(\/.+)$/;

const pack = promisify(gzip);
const loaded = new Map<string, ReturnType<typeof load>>();

export function isPageFile(method: string, path: string): boolean {
  const { file } = placeOf(path);
  return (method === "GET" || method === "HEAD") && (Object.hasOwn(FILES, file) || Object.hasOwn(LIBRARY_FILES, file));
}

/** The file's own path, and the version that it is asked by. */
function placeOf(path: string): { readonly file: string; readonly asked: string | null } {
  const [, asked = null, file = path] = VERSIONED.exec(path) ?? [];
  return { file, asked };
}

interface Wish {
  readonly encodings: string | undefined;
  /** The entity that the browser has. */
  readonly known: string | undefined;
  /** What its person speaks, best first. */
  readonly languages: string | undefined;
}

/**
 * Sends one of the page's files, packed where the browser takes that; 304 where it has it already. By the present version a
 * browser keeps it, and asks no more.
 */
export async function sendPageFile(response: Answering, path: string, wish: Wish): Promise<void> {
  const { file: name, asked } = placeOf(path);
  const isDocument = FILES[name]?.[1] === HTML;
  const { type, plain, packed, etag } = await (isDocument ? documentOf(name, wish.languages) : fileOf(name));
  const isFixed = asked !== null && asked === (await version());
  const common = {
    ETag: etag,
    "Cache-Control": isFixed ? `max-age=${YEAR_S}, immutable` : "no-cache",
    Vary: isDocument ? "Accept-Encoding, Accept-Language" : "Accept-Encoding",
    ...(name === "/scan" ? SCAN_HEADERS : {}),
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

/** Read and packed once, when it is first asked for. */
async function fileOf(path: string): ReturnType<typeof load> {
  const known = loaded.get(path) ?? load(path);
  loaded.set(path, known);
  const file = await known;
  if (file.plain.length > MOST_KEPT_BYTES) loaded.delete(path);
  return file;
}

async function load(path: string) {
  const [, type] = FILES[path] ?? LIBRARY_FILES[path] ?? ["", ""];
  return entityOf(await made(path), type);
}

/** The file as it is sent; a document's own names are written into it later. */
async function made(path: string): Promise<Buffer> {
  if (!Object.hasOwn(FILES, path) || FILES[path]?.[1] !== JS) return read(path);
  const first = await firstView();
  if (path === FIRST) return Buffer.from(joined(first));
  const text = await textOf(path);
  // The scanner's document has none of the first view.
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
  const [file] = FILES[path] ?? LIBRARY_FILES[path] ?? [""];
  return readFile(new URL(file, Object.hasOwn(FILES, path) ? FOLDER : LIBRARIES));
}

const textOf = async (path: string): Promise<string> => flattened((await read(path)).toString("utf8"));

async function entityOf(plain: Buffer, type: string) {
  return { type, plain, packed: await pack(plain, { level: 9 }), etag: `"${hashOf([plain])}"` };
}

function hashOf(parts: readonly Buffer[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest("base64url").slice(0, 22);
}

/** Of all that the page is made of; a library's machine code changes with its scripts. */
const version = once(async () => {
  const libraries = Object.keys(LIBRARY_FILES).filter((path) => !path.endsWith(".wasm"));
  return hashOf(await Promise.all([...Object.keys(FILES), ...libraries].map(made)));
});

/**
 * A document, its files by their version, with all at its head that its first view is drawn with: a browser then asks for
 * everything at once, and not for one after the other as each names the next.
 */
async function documentOf(path: string, languages: string | undefined): ReturnType<typeof load> {
  const key = `${path} ${languageOf(languages)}`;
  const known = loaded.get(key) ?? writeDocument(path, languageOf(languages));
  loaded.set(key, known);
  return known;
}

async function writeDocument(path: string, language: string): ReturnType<typeof load> {
  const text = (await textOf(path)).replace('"/main.js"', `"${FIRST}"`);
  const scripts = path === "/" ? ["/ahead.js", FIRST] : [...(await scanner()).keys()];
  const links = [...scripts, `/${language}.js`].map((name) => `<link rel="modulepreload" href="${name}" />`);
  const whole = text
    .replace("<script", `${links.join("\n    ")}\n    <script`)
    .replaceAll(/"(\/[\w-]+\.(?:js|css))"/g, `"/v/${await version()}$1"`);
  return entityOf(Buffer.from(whole), HTML);
}

/** A module and those that come with it by its imports, by path, each behind those that it imports. */
async function modulesOf(path: string, { without = "" } = {}): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  const add = async (name: string, text: string): Promise<void> => {
    for (const next of importsOf(text)) if (!seen.has(next)) await add(next, await reach(next));
    found.set(name, text);
  };
  const seen = new Set([without]);
  const reach = (name: string): Promise<string> => {
    seen.add(name);
    return textOf(name);
  };
  await add(path, await reach(path));
  return found;
}

/** The first of the page's languages that the browser names. Chosen on the page it may be another, which is then loaded too. */
function languageOf(accepted = ""): string {
  const names = accepted.split(",").map((one) => one.trim().slice(0, 2).toLowerCase());
  return names.find((name) => LANGUAGES.includes(name)) ?? "en";
}
