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

/** A program of a package: where its code begins, and where it finds the files that aren't code. */
export interface Program {
  readonly entries: Readonly<Record<string, string>>;
  /** Files beside the code that it finds by its own address, and their addresses seen from the packaged code. */
  readonly beside: Readonly<Record<string, string>>;
  readonly external: readonly string[];
  /** Modules that something else stands in for. */
  readonly spared: readonly { readonly module: RegExp; readonly instead: string }[];
  /** es: its threads await at the top. */
  readonly format: "cjs" | "es";
  /** Words of the sources, and what they are called in the package. */
  readonly words: readonly (readonly [from: string, to: string])[];
}

const ENTRIES = {
  commands: "src/runtime/commands.ts",
  "store-worker": "src/store/thread/worker.ts",
  "reports-worker": "src/runtime/reports-worker.ts",
  "workshop-worker": "src/runtime/workshop-worker.ts",
  "xlsx-worker": "src/tools/import/xlsx-worker.ts",
  "certificate-worker": "src/acquisition/opcua/certificate-worker.ts",
  "box-bench": "test/bench/box.ts",
};

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

export const AGENT: Program = {
  entries: ENTRIES,
  beside: BESIDE,
  external: [...EXTERNAL, ...NEVER_LOADED],
  spared: SPARED,
  // An import of a module of Node's own asks it for all that it has: reading lines, web cryptography, standard input. require doesn't.
  format: "cjs",
  words: [],
};

/** Packages of the service with addons, which stay packages. */
export const SERVICE_EXTERNAL = ["better-sqlite3"] as const;

export const SERVICE: Program = {
  entries: {
    service: "simulators/service/main.ts",
    helper: "simulators/service/storage/postgres/helper.ts",
    "reports-thread": "simulators/service/reports/thread.ts",
    "figures-thread": "simulators/service/fleet/figures-thread.ts",
  },
  beside: {
    "./helper.ts": "./helper.js",
    "./thread.ts": "./reports-thread.js",
    "./figures-thread.ts": "./figures-thread.js",
    "./page/": "../page/",
  },
  // Loaded only if PostgreSQL's own client library is wanted.
  external: [...SERVICE_EXTERNAL, "pg-native"],
  spared: [],
  format: "es",
  words: [["booth-sim service", "booth-service"]],
};

export interface Bundle {
  readonly files: readonly { readonly name: string; readonly text: string }[];
  /** Folders of the packages whose code is in it. */
  readonly packages: readonly string[];
}

/**
 * Returns a program as a few files without types and comments: it starts in two thirds of the CPU time of its sources, with 6 MB
 * less memory. OPC UA stays a file of its own, loaded where a booth needs it. Names are kept, so stack traces can be read.
 */
export async function bundleOf(root: string, program: Program): Promise<Bundle> {
  const spared = new Set<RegExp>();
  const builds = await Promise.all(
    Object.entries(program.entries).map(([name, file]) => chunksOf({ root, program, spared }, { [name]: file })),
  );
  const left = program.spared.find(({ module }) => !spared.has(module));
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
async function chunksOf(
  { root, program, spared }: { readonly root: string; readonly program: Program; readonly spared: Set<RegExp> },
  input: Readonly<Record<string, string>>,
) {
  const isOurs = (id: string): boolean => ["src", "simulators"].some((one) => id.startsWith(join(root, one) + sep));
  const build = await rolldown({
    cwd: root,
    platform: "node",
    input: { ...input },
    external: [...program.external],
    treeshake: { moduleSideEffects: (id) => !QUIET.test(id) },
    // Otherwise the package would lack a module and fail when it is loaded.
    onLog: (level, log, report) => {
      if (log.code === "UNRESOLVED_IMPORT") throw new Error(`npm ci: ${log.message}`);
      report(level, log);
    },
    plugins: [
      {
        name: "beside",
        transform: (code, id) => (isOurs(id) ? { code: asPackaged(code, id, program) } : null),
      },
      {
        name: "spared",
        load(id) {
          const found = program.spared.find(({ module }) => module.test(id));
          if (found !== undefined) spared.add(found.module);
          return found?.instead ?? null;
        },
      },
    ],
  });
  const { output } = await build.generate({
    format: program.format,
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

function asPackaged(code: string, id: string, { beside, words }: Program): string {
  const said = words.reduce((text, [from, to]) => text.replaceAll(from, to), code);
  return said.replaceAll(/new URL\("(\.[^"]+)", import\.meta\.url\)/g, (_, place: string) => {
    const there = beside[place];
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
