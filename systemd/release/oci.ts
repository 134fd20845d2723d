import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Architecture } from "../package/node-binary.ts";
import { gzip } from "./archive.ts";

/** A reference to a file of the layout by its content. */
interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

/** The settings that a container of the image starts with. */
export interface ImageConfig {
  readonly User: string;
  readonly Env: readonly string[];
  readonly Entrypoint: readonly string[];
  readonly Cmd: readonly string[];
  readonly Volumes: Readonly<Record<string, object>>;
  readonly ExposedPorts: Readonly<Record<string, object>>;
  readonly StopSignal: string;
  readonly Labels: Readonly<Record<string, string>>;
  /** Docker's extension of the OCI format. Kubernetes has probes of its own. */
  readonly Healthcheck: { readonly Test: readonly string[]; readonly Interval: number; readonly StartPeriod: number };
}

export interface PlatformImage {
  readonly architecture: Architecture;
  readonly config: ImageConfig;
  /** Uncompressed tar archives, the lowest first. */
  readonly layers: readonly Buffer[];
}

const MEDIA = {
  index: "application/vnd.oci.image.index.v1+json",
  manifest: "application/vnd.oci.image.manifest.v1+json",
  config: "application/vnd.oci.image.config.v1+json",
  layer: "application/vnd.oci.image.layer.v1.tar+gzip",
} as const;

/**
 * Writes an OCI image layout with one image for several architectures. umoci and buildah can't write one of which each
 * byte depends on the content only, with Docker's health check; to read it, the tests use umoci.
 */
export function writeLayout(
  folder: string,
  images: readonly PlatformImage[],
  { tag, made_at, quick }: { readonly tag: string; readonly made_at: Date; readonly quick: boolean },
): void {
  mkdirSync(join(folder, "blobs/sha256"), { recursive: true });
  const put = (mediaType: string, content: Buffer): Descriptor => {
    const digest = sha256(content);
    writeFileSync(join(folder, "blobs/sha256", digest), content);
    return { mediaType, digest: `sha256:${digest}`, size: content.length };
  };
  const putJson = (mediaType: string, value: object): Descriptor => put(mediaType, Buffer.from(JSON.stringify(value)));
  const manifests = images.map(({ architecture, config, layers }) => {
    const image = {
      created: made_at.toISOString(),
      architecture,
      os: "linux",
      config,
      rootfs: { type: "layers", diff_ids: layers.map((layer) => `sha256:${sha256(layer)}`) },
      history: layers.map(() => ({ created: made_at.toISOString(), created_by: "npm run release" })),
    };
    const manifest = {
      schemaVersion: 2,
      mediaType: MEDIA.manifest,
      config: putJson(MEDIA.config, image),
      layers: layers.map((layer) => put(MEDIA.layer, gzip(layer, quick))),
    };
    return { ...putJson(MEDIA.manifest, manifest), platform: { architecture, os: "linux" } };
  });
  const named = (descriptor: Descriptor, name: string): object => ({
    ...descriptor,
    annotations: { "org.opencontainers.image.ref.name": name },
  });
  const all = putJson(MEDIA.index, { schemaVersion: 2, mediaType: MEDIA.index, manifests });
  const index = {
    schemaVersion: 2,
    mediaType: MEDIA.index,
    manifests: [
      named(all, tag),
      ...manifests.map((manifest) => named(manifest, `${tag}-${manifest.platform.architecture}`)),
    ],
  };
  writeFileSync(join(folder, "index.json"), JSON.stringify(index));
  writeFileSync(join(folder, "oci-layout"), JSON.stringify({ imageLayoutVersion: "1.0.0" }));
}

function sha256(content: Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}
