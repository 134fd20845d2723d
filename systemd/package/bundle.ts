import { readFileSync } from "node:fs";
import { basename, join, sep } from "node:path";
import { rolldown } from "rolldown";

/** With addons of their own; they stay packages. */
export const EXTERNAL = ["better-sqlite3", "serialport"] as const;

/** Library files that the page's views load on demand, below node_modules. */
export const LIBRARY_FILES = [
  "uplot/dist/uPlot.iife.min.js",
  "uplot/dist/uPlot.min.css",
  "zxing-wasm/dist/es/reader/index.js",
  "zxing-wasm/dist/es/share.js",
  "zxing-wasm/dist/reader/zxing_reader.wasm",
] as const;

const ENTRIES = {
  commands: "src/runtime/commands.ts",
  "store-worker": "src/store/thread/worker.ts",
  "reports-worker": "src/runtime/reports-worker.ts",
  "workshop-worker": "src/runtime/workshop-worker.ts",
  "xlsx-worker": "src/tools/import/xlsx-worker.ts",
  "certificate-worker": "src/acquisition/opcua/certificate-worker.ts",
  "box-bench": "test/bench/box.ts",
};

/** Files beside the code that it finds by its own address, and where they stand seen from the packaged code. */
const BESIDE: Readonly<Record<string, string>> = {
  "./worker.ts": "./store-worker.js",
  "./reports-worker.ts": "./reports-worker.js",
  "./workshop-worker.ts": "./workshop-worker.js",
  "./xlsx-worker.ts": "./xlsx-worker.js",
  "./certificate-worker.ts": "./certificate-worker.js",
  "./page/": "../page/",
  "../domain/messages/": "../messages/",
  "../../node_modules/": "../libraries/",
  "../../package.json": "../package.json",
  "../../config/profiles": "../profiles",
};

/** Only where a lock over several processes is asked for, which we never do. */
const NEVER_LOADED = ["proper-lockfile"];

/** Packages whose modules do nothing but declare: what isn't used of them is left out. */
const QUIET =
  /node_modules[\\/]node-opcua-(?:client|crypto|pki|alarm-condition|certificate-manager|client-dynamic-extension-object|common|pseudo-session|schemas|secure-channel|xml2json)[\\/]/;

/** Modules that something else stands in for. */
const SPARED = [
  {
    // The library reads through a port of ours. Its own ports load the addon of serial ports, and UDP.
    module: /[\\/]modbus-serial[\\/](?:ports|servers|worker)[\\/]\w+\.js$/,
    instead: "module.exports = {};",
  },
  {
    // It looks for a flaw of Node 20 that ours doesn't have, and loads what makes certificates for that.
    module: /[\\/]node-opcua-secure-channel[\\/]dist[\\/]source[\\/]verify_pcks1\.js$/,
    instead: "export const testRSAPKCS1V15_EncryptDecrypt = async () => undefined;",
  },
] as const;

export interface Bundle {
  readonly files: readonly { readonly name: string; readonly text: string }[];
  /** Folders of the packages whose code is in it. */
  readonly packages: readonly string[];
}

/**
 * The agent as a few files without types and comments: it starts in two thirds of the CPU time of its sources, with 6 MB
 * less memory. OPC UA stays a file of its own, loaded where a booth needs it. Names are kept, so stack traces can be read.
 */
export async function bundleAgent(root: string): Promise<Bundle> {
  const spared = new Set<RegExp>();
  const builds = await Promise.all(
    Object.entries(ENTRIES).map(([name, file]) => chunksOf(root, { [name]: file }, spared)),
  );
  const left = SPARED.find(({ module }) => !spared.has(module));
  if (left !== undefined)
    throw new Error(`nothing loads ${left.module.source} any more: it needs nothing in its place`);
  const chunks = builds.flat();
  const packages = chunks.flatMap(({ moduleIds }) => moduleIds).flatMap(packageOf);
  const files = new Map(chunks.map(({ fileName, code }) => [fileName, inAscii(code)]));
  return {
    files: [...files].map(([name, text]) => ({ name, text })),
    packages: [...new Set(packages)].sort(),
  };
}

/** A thread's code by itself: what two of them had in common would hold what either needs, and threads share no memory. */
async function chunksOf(root: string, input: Readonly<Record<string, string>>, spared: Set<RegExp>) {
  const build = await rolldown({
    cwd: root,
    platform: "node",
    input: { ...input },
    external: [...EXTERNAL, ...NEVER_LOADED],
    treeshake: { moduleSideEffects: (id) => !QUIET.test(id) },
    // Otherwise the package would lack a module and fail when it is loaded.
    onLog: (level, log, report) => {
      if (log.code === "UNRESOLVED_IMPORT") throw new Error(`npm ci: ${log.message}`);
      report(level, log);
    },
    plugins: [
      {
        name: "beside",
        transform: (code, id) => (id.startsWith(join(root, "src") + sep) ? { code: withPlaces(code, id) } : null),
      },
      {
        name: "spared",
        load(id) {
          const found = SPARED.find(({ module }) => module.test(id));
          if (found !== undefined) spared.add(found.module);
          return found?.instead ?? null;
        },
      },
    ],
  });
  const { output } = await build.generate({
    // An import of a module of Node's own asks it for all that it has: reading lines, web cryptography, standard input. require doesn't.
    format: "cjs",
    minify: { compress: true, mangle: false, codegen: true },
    comments: false,
    entryFileNames: "[name].js",
    chunkFileNames: "[name]-[hash].js",
  });
  await build.close();
  return output.filter((file) => file.type === "chunk");
}

/**
 * Escapes all characters beyond ASCII. A single one makes V8 store the whole text with two bytes a character: 3 MB more
 * for OPC UA.
 */
function inAscii(code: string): string {
  if (/String\.raw`[^`]*[^\x00-\x7f]/.test(code)) throw new Error("a raw text beyond ASCII would change");
  return code.replace(/[^\x00-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function withPlaces(code: string, id: string): string {
  return code.replaceAll(/new URL\("(\.[^"]+)", import\.meta\.url\)/g, (_, place: string) => {
    const there = BESIDE[place];
    if (there === undefined) throw new Error(`${id} finds ${place} beside itself, and the package has no place for it`);
    return `new URL("${there}", import.meta.url)`;
  });
}

function packageOf(id: string): string[] {
  const found = /^(.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+)[\\/]/.exec(id)?.[1];
  return found === undefined ? [] : [found];
}

/** Returns the program that starts the agent: src/main.cjs with its own Node and the folder of this version. */
export function launcherText(root: string, folder: string): string {
  const changes: readonly (readonly [string, string])[] = [
    ["#!/usr/bin/env node", `#!${folder}/bin/node`],
    ["./runtime/commands.ts", `.//${basename(folder)}/agent/commands.js`],
    // Without a folder of the service manager nothing is cached: commands run as anybody, root among them.
    ["`${__dirname}/../node_modules/.cache/booth-gateway`", "null"],
  ];
  let text = readFileSync(join(root, "src/main.cjs"), "utf8");
  for (const [from, to] of changes) {
    if (text.split(from).length !== 2) throw new Error(`src/main.cjs doesn't hold ${from} once`);
    text = text.replace(from, () => to);
  }
  return text;
}
