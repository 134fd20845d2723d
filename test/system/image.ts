import { execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder, type AtEnd } from "../support/temporary.ts";
import { CANDIDATE, releaseHere } from "./released.ts";

/** A running container of a released image, read by umoci and started by runc, in a network that has only loopback. */
export interface ImageContainer {
  /** Compressed size of the image's layers. */
  readonly compressed_bytes: number;
  /** Folder of the image's files, outside the container. */
  readonly rootfs: string;
  /** Runs the image's own health check. Returns its exit code and output. */
  health(): { readonly code: number | null; readonly out: string };
  /** Runs a command in the container. */
  exec(...command: string[]): { readonly code: number | null; readonly out: string };
  /** Starts a program of this repository in the container's network. */
  beside(command: string, args: readonly string[]): void;
  /** Requests an address in the container's network, and returns the response. */
  fetch(url: string, key: string): string;
  /** The container's output so far. */
  output(): string;
}

interface Spec {
  process: { terminal: boolean; capabilities: object; args: string[] };
  root: { readonly?: boolean };
  mounts: { destination: string; type?: string; source: string; options?: string[] }[];
  linux: { namespaces: { type: string; path?: string }[] };
}

const MB = 1_000_000;

/** Starts a container as the examples do: read-only, without capabilities, with memory for state and runtime. */
export function runImage(
  product: "booth-gateway" | "booth-service",
  config: string | null,
  atEnd: AtEnd,
): ImageContainer {
  const folder = temporaryFolder(undefined, atEnd);
  const layout = join(folder, "layout");
  mkdirSync(layout);
  execFileSync("tar", ["-xf", join(releaseHere(), `${product}_${CANDIDATE}.oci.tar`), "-C", layout]);
  const bundle = join(folder, "bundle");
  execFileSync("umoci", ["unpack", "--image", `${layout}:${CANDIDATE}`, bundle], { stdio: "ignore" });
  const name = `bg-${product.slice(6)}-${process.pid}`;
  execFileSync("ip", ["netns", "add", name]);
  atEnd(() => execFileSync("ip", ["netns", "del", name]));
  execFileSync("ip", ["-n", name, "link", "set", "lo", "up"]);
  const settings = join(folder, "etc");
  mkdirSync(settings);
  if (config !== null) writeFileSync(join(settings, "gateway.yaml"), config);
  const file = join(bundle, "config.json");
  const spec = JSON.parse(readFileSync(file, "utf8")) as Spec;
  writeFileSync(file, JSON.stringify(hardened(spec, { product, settings, netns: `/run/netns/${name}` })));

  let said = "";
  const container = spawn("runc", ["run", "-b", bundle, name], { stdio: ["ignore", "pipe", "pipe"] });
  for (const stream of [container.stdout, container.stderr]) stream.on("data", (data) => (said += String(data)));
  const gone = new Promise((resolve) => container.once("exit", resolve));
  atEnd(async () => {
    spawnSync("runc", ["kill", name, "KILL"]);
    await gone;
    spawnSync("runc", ["delete", "--force", name]);
  });
  const exec = (...command: string[]): { readonly code: number | null; readonly out: string } => {
    const { status, stdout, stderr } = spawnSync("runc", ["exec", name, ...command], { encoding: "utf8" });
    return { code: status, out: stdout + stderr };
  };
  const inSpace = (command: string, args: readonly string[]): string[] => ["netns", "exec", name, command, ...args];
  const { check, compressed_bytes } = imageOf(layout);
  return {
    compressed_bytes,
    rootfs: join(bundle, "rootfs"),
    health: () => exec(...check),
    exec,
    beside: (command, args) => {
      const child = spawn("ip", inSpace(command, args), { stdio: "ignore" });
      atEnd(() => void child.kill("SIGKILL"));
    },
    fetch: (url, key) =>
      execFileSync("ip", inSpace("curl", ["-sf", "-H", `Authorization: ${key}`, url]), { encoding: "utf8" }),
    output: () => said,
  };
}

function hardened(
  spec: Spec,
  { product, settings, netns }: { readonly product: string; readonly settings: string; readonly netns: string },
): Spec {
  const state = [`/var/lib/${product}`, `/run/${product}`];
  const options = ["nosuid", "nodev", "noexec", "uid=10001", "gid=10001", "mode=700"];
  const namespaces = spec.linux.namespaces.map((one) => (one.type === "network" ? { ...one, path: netns } : one));
  return {
    ...spec,
    process: { ...spec.process, terminal: false, capabilities: {} },
    root: { ...spec.root, readonly: true },
    mounts: [
      ...spec.mounts.filter(({ destination }) => !["/sys/fs/cgroup", ...state].includes(destination)),
      ...state.map((destination) => ({ destination, type: "tmpfs", source: "tmpfs", options })),
      ...(product === "booth-gateway"
        ? [{ destination: "/etc/booth-gateway", type: "bind", source: settings, options: ["bind", "ro"] }]
        : []),
    ],
    linux: { ...spec.linux, namespaces },
  };
}

interface Descriptor {
  readonly digest: string;
  readonly size: number;
  readonly annotations?: Readonly<Record<string, string>>;
}

function imageOf(layout: string): { readonly check: readonly string[]; readonly compressed_bytes: number } {
  // Files of the OCI format, which umoci has just read.
  const read = (name: string): unknown => JSON.parse(readFileSync(join(layout, name), "utf8"));
  const blob = ({ digest }: Descriptor): unknown => read(`blobs/${digest.replace(":", "/")}`);
  const { manifests } = read("index.json") as { manifests: readonly Descriptor[] };
  const mine = manifests.find((one) => one.annotations?.["org.opencontainers.image.ref.name"] === `${CANDIDATE}-amd64`);
  if (mine === undefined) throw new Error("the layout has no image for amd64");
  const { config, layers } = blob(mine) as { config: Descriptor; layers: readonly Descriptor[] };
  const image = blob(config) as { config: { Healthcheck: { Test: readonly string[] } } };
  return {
    check: image.config.Healthcheck.Test.slice(1),
    compressed_bytes: layers.reduce((sum, { size }) => sum + size, 0),
  };
}

/** The largest size that a compressed image may have. */
export const LARGEST = { "booth-gateway": 70 * MB, "booth-service": 90 * MB } as const;
