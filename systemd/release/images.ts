import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Architecture } from "../package/node-binary.ts";
import { tarOf } from "./archive.ts";
import { sourcesOf } from "./debian.ts";
import { type ImageConfig, type PlatformImage, writeLayout } from "./oci.ts";

/** Debian's files below Node: no shell, no package manager. */
const BASE = { release: "trixie", packages: "base-files,libc6,libgcc-s1,libstdc++6" } as const;
/** The user of both images. A number, because Kubernetes can't check a name. */
const USER = 10_001;
/** Parts of a package that only a system with systemd and a shell needs. */
const NOT_IN_IMAGES = [
  "usr/lib/systemd",
  "usr/lib/sysusers.d",
  "usr/lib/tmpfiles.d",
  "usr/share/man",
  "usr/share/bash-completion",
  "usr/share/zsh",
  "usr/share/fish",
];
const SECOND_NS = 1_000_000_000;

type Product = "booth-gateway" | "booth-service";

/** Requests the first page of the service. */
const SERVICE_CHECK =
  "fetch('http://127.0.0.1:8080/owner/').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))";

const PRODUCTS: Readonly<
  Record<Product, Pick<ImageConfig, "Cmd" | "Env" | "ExposedPorts"> & { readonly check: string[] }>
> = {
  "booth-gateway": {
    Cmd: ["run"],
    // As in the unit: booth-gateway.service has the reasons.
    Env: ["NODE_OPTIONS=--no-deprecation", "MALLOC_ARENA_MAX=1", "MALLOC_MMAP_THRESHOLD_=32768"],
    ExposedPorts: { "8443/tcp": {} },
    check: ["booth-gateway", "status"],
  },
  "booth-service": {
    Cmd: ["--seed", "demo", "--host", "0.0.0.0", "--port", "8080", "--data", "/var/lib/booth-service"],
    Env: [],
    ExposedPorts: { "8080/tcp": {} },
    check: ["node", "-e", SERVICE_CHECK],
  },
};

export interface ImageParts {
  /** Debian packages of this release, of any product and architecture. */
  readonly debs: readonly string[];
  readonly out: string;
  readonly version: string;
  readonly made_at: Date;
  readonly quick: boolean;
  /** An empty folder for files in between. */
  readonly scratch: string;
  /** Folder that keeps Debian's files for the next run; null: they are fetched anew, with Debian's newest corrections. */
  readonly base_cache: string | null;
}

/** Makes an image of each product, for the architectures of its packages. Returns archives of OCI layouts. */
export function makeImages(parts: ImageParts): string[] {
  const products = Object.keys(PRODUCTS) as Product[];
  return products.flatMap((product) => {
    const debs = parts.debs.filter((file) => basename(file).startsWith(`${product}_`));
    return debs.length === 0 ? [] : [makeImage(product, debs, parts)];
  });
}

function makeImage(product: Product, debs: readonly string[], parts: ImageParts): string {
  const { out, version, made_at, quick, scratch } = parts;
  const layout = join(scratch, product);
  const images = debs.map((deb) => platformOf(product, deb, parts));
  writeLayout(layout, images, { tag: version, made_at, quick });
  const file = join(out, `${product}_${version}.oci.tar`);
  writeFileSync(file, tarOf(layout, made_at));
  return file;
}

function platformOf(product: Product, deb: string, parts: ImageParts): PlatformImage {
  const architecture = architectureOf(deb);
  const { version, made_at, scratch } = parts;
  const { check, ...rest } = PRODUCTS[product];
  const config: ImageConfig = {
    ...rest,
    Env: ["PATH=/usr/bin", ...rest.Env],
    User: `${USER}:${USER}`,
    Entrypoint: [`/usr/bin/${product}`],
    Volumes: { [`/var/lib/${product}`]: {} },
    StopSignal: "SIGTERM",
    Labels: {
      "org.opencontainers.image.title": product,
      "org.opencontainers.image.version": version,
      "org.opencontainers.image.licenses": "Apache-2.0",
    },
    Healthcheck: { Test: ["CMD", ...check], Interval: 30 * SECOND_NS, StartPeriod: 90 * SECOND_NS },
  };
  const stage = join(scratch, `${product}-${architecture}`);
  layOutProgram(product, deb, stage);
  const state = join(scratch, `${product}-${architecture}-state`);
  // Only these, because the folders above them belong to root.
  const names = [`run/${product}`, `var/lib/${product}`];
  for (const name of names) mkdirSync(join(state, name), { recursive: true });
  const options = [`--owner=${USER}`, `--group=${USER}`, "--mode=u=rwx,go="];
  const layers = [baseOf(architecture, parts), tarOf(stage, made_at), tarOf(state, made_at, { options, names })];
  return { architecture, config, layers };
}

/** Unpacks the program, and adds the user and the name of Node that a health check uses. */
function layOutProgram(product: Product, deb: string, stage: string): void {
  mkdirSync(stage);
  execFileSync("dpkg-deb", ["-x", deb, stage]);
  for (const path of NOT_IN_IMAGES) rmSync(join(stage, path), { recursive: true, force: true });
  const line = /^#!(\S+)/.exec(readFileSync(join(stage, "usr/lib", product, product), "utf8"))?.[1];
  if (line === undefined) throw new Error(`${deb} has no launcher`);
  symlinkSync(line, join(stage, "usr/bin/node"));
  mkdirSync(join(stage, "etc"), { recursive: true });
  writeFileSync(
    join(stage, "etc/passwd"),
    `root:x:0:0::/:/usr/sbin/nologin\n${product}:x:${USER}:${USER}::/var/lib/${product}:/usr/sbin/nologin\n`,
  );
  writeFileSync(join(stage, "etc/group"), `root:x:0:\n${product}:x:${USER}:\n`);
}

function architectureOf(deb: string): Architecture {
  return execFileSync("dpkg-deb", ["-f", deb, "Architecture"], { encoding: "utf8" }).trim() as Architecture;
}

/** Names each Debian package for scanners, in the place of images without dpkg, and removes texts. */
const TIDY = `set -e
cd "$1" && mkdir -p var/lib/dpkg/status.d
for deb in var/cache/apt/archives/*.deb; do
  dpkg-deb -f "$deb" >"var/lib/dpkg/status.d/$(dpkg-deb -f "$deb" Package)"
done
find usr/share/doc -type f ! -name copyright -delete
rm -rf usr/share/man usr/share/info usr/share/locale usr/share/lintian usr/lib/*/gconv usr/lib/locale`;

/** Returns Debian's files as a tar archive. Nothing of them runs here, so any machine can make it for any architecture. */
function baseOf(architecture: Architecture, { made_at, base_cache, scratch }: ImageParts): Buffer {
  const file = join(base_cache ?? scratch, `base-${BASE.release}-${architecture}.tar`);
  if (existsSync(file)) return readFileSync(file);
  mkdirSync(dirname(file), { recursive: true });
  const options = [
    ...["--quiet", "--variant=extract", `--architectures=${architecture}`, `--include=${BASE.packages}`],
    ...["--skip=output/dev", `--extract-hook=${TIDY}`],
  ];
  execFileSync("mmdebstrap", [...options, BASE.release, file, ...sourcesOf(BASE.release)], {
    env: { ...process.env, SOURCE_DATE_EPOCH: String(Math.floor(made_at.getTime() / 1000)) },
    stdio: ["ignore", "ignore", "inherit"],
  });
  return readFileSync(file);
}
