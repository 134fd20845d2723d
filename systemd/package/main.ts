#!/usr/bin/env node
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { AGENT, type Bundle, bundleOf, type Program, SERVICE } from "./bundle.ts";
import type { Control } from "./control.ts";
import { makeDeb, sumUp } from "./deb.ts";
import { ARCHITECTURES, type Architecture } from "./node-binary.ts";
import { layOutService, SERVICE_CONTROL } from "./service-tree.ts";
import { AGENT_CONTROL, layOut, type TreeParts } from "./tree.ts";

/**
 * `npm run package`: the Debian packages, checksums beside them. The same commit gives the same bytes: all times in them are
 * SOURCE_DATE_EPOCH, else that of the commit.
 */
const HELP = `npm run package -- [options]
  --package NAME    booth-gateway or booth-service; may be given twice (default: both)
  --arch NAME       amd64 or arm64; may be given twice (default: both)
  --out DIR         where the packages go (default: dist)
  --version TEXT    instead of package.json's
  --maintainer WHO  whom to tell of a weakness: "NAME <ADDRESS>"; stands in the package (default: nobody outside this machine)
  --sign-key FILE   OpenSSH's private key that signs the checksums; with an agent, the public key is enough
  --quick           packs fast and large, for tests
`;

const root = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");

function ownVersion(): string {
  // Our own file.
  return (JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string }).version;
}

function madeAt(): Date {
  const given = process.env["SOURCE_DATE_EPOCH"];
  const seconds = given ?? execFileSync("git", ["log", "-1", "--format=%ct"], { cwd: root, encoding: "utf8" });
  return new Date(Number(seconds) * 1000);
}

function architectureOf(name: string): Architecture {
  if (!(name in ARCHITECTURES)) throw new Error(`${name} is not among ${Object.keys(ARCHITECTURES).join(", ")}`);
  // Just looked up.
  return name as Architecture;
}

interface Product {
  readonly program: Program;
  readonly control: Control;
  readonly layOut: (parts: TreeParts) => void;
}

const PRODUCTS: Readonly<Record<string, Product>> = {
  "booth-gateway": { program: AGENT, control: AGENT_CONTROL, layOut },
  "booth-service": { program: SERVICE, control: SERVICE_CONTROL, layOut: layOutService },
};

function productOf(name: string): Product {
  const product = PRODUCTS[name];
  if (product === undefined) throw new Error(`${name} is not among ${Object.keys(PRODUCTS).join(", ")}`);
  return product;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      package: { type: "string", multiple: true, default: Object.keys(PRODUCTS) },
      arch: { type: "string", multiple: true, default: Object.keys(ARCHITECTURES) },
      out: { type: "string", default: join(root, "dist") },
      version: { type: "string", default: ownVersion() },
      maintainer: { type: "string", default: "booth-gateway maintainers <booth-gateway@localhost>" },
      "sign-key": { type: "string" },
      quick: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const { version, quick, maintainer } = values;
  if (!/^[^<>\n]+ <[^<>@\s]+@[^<>@\s]+>$/.test(maintainer)) throw new Error("--maintainer is NAME <ADDRESS>");
  const out = resolve(values.out);
  mkdirSync(out, { recursive: true });
  const made_at = madeAt();
  const began = performance.now();
  // On the other stream: what it prints are the files' names.
  const tell = (text: string): void =>
    void process.stderr.write(`${((performance.now() - began) / 1000).toFixed(0)} s  ${text}\n`);
  const made: { readonly product: Product; readonly bundle: Bundle }[] = [];
  for (const product of values.package.map(productOf)) {
    tell(`the code of ${product.control.name} is bundled`);
    made.push({ product, bundle: await bundleOf(root, product.program) });
  }
  const architectures = values.arch.map(architectureOf);
  const all = made.flatMap((one) => architectures.map((architecture) => ({ ...one, architecture })));
  const files = all.map(({ product, bundle, architecture }) => {
    const stage = mkdtempSync(join(tmpdir(), "booth-package-"));
    const { control } = product;
    try {
      tell(`${control.name} ${architecture}: Node and the packages are laid out`);
      const file = join(out, `${control.name}_${version}_${architecture}.deb`);
      product.layOut({
        root,
        stage,
        architecture,
        version,
        made_at,
        cache: join(root, "node_modules/.cache/booth-gateway-node"),
        bundle,
      });
      tell(`${control.name} ${architecture}: ${quick ? "it is packed" : "it is packed, which takes most of the time"}`);
      makeDeb({ root, control, stage, architecture, version, maintainer, made_at, quick, file });
      process.stdout.write(`${file}\n`);
      return file;
    } finally {
      rmSync(stage, { recursive: true, force: true });
    }
  });
  sumUp(out, files, values["sign-key"] ?? null);
}

await main();
