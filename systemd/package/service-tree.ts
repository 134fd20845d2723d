import { cpSync, mkdirSync, readFileSync, readdirSync, renameSync, symlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { SERVICE_EXTERNAL } from "./bundle.ts";
import type { Control } from "./control.ts";
import { nodePackage } from "./node-binary.ts";
import { closureOf } from "./packages.ts";
import { contentHash, layOutPapers, layOutRuntime, put, type TreeParts, UNITS } from "./tree.ts";

const HOME = "usr/lib/booth-service";
const SHARED = "usr/share/booth-service";
const DOC = "usr/share/doc/booth-service";

export const SERVICE_CONTROL: Control = {
  name: "booth-service",
  depends: "systemd (>= 252), adduser",
  description: [
    "booth monitoring service for a fleet of booth gateways",
    "Takes in the readings of paint and spray booths over MQTT, stores them in",
    "PostgreSQL, and answers reports over HTTP. Runs in parts: any number of each.",
  ],
  scripts: "service-scripts",
};

/** Lays out what the package of the service installs, in the same way as the agent's. */
export function layOutService(parts: TreeParts): void {
  const { root, stage, version, made_at, architecture, cache, bundle } = parts;
  const unnamed = join(stage, HOME, "unnamed");
  for (const { name, text } of bundle.files) put(join(unnamed, "service", name), text);
  put(join(unnamed, "package.json"), `${JSON.stringify({ name: "booth-service", version, type: "module" })}\n`);
  const isServed = (path: string): boolean => basename(path) !== "tsconfig.json";
  cpSync(join(root, "simulators/service/owner/page"), join(unnamed, "page"), { recursive: true, filter: isServed });
  layOutRuntime(parts, unnamed, SERVICE_EXTERNAL);
  const folder = join(HOME, `${version}-${contentHash(unnamed)}`);
  renameSync(unnamed, join(stage, folder));
  put(join(stage, HOME, "booth-service"), launcherText(folder), 0o755);
  mkdirSync(join(stage, "usr/bin"), { recursive: true });
  symlinkSync("../lib/booth-service/booth-service", join(stage, "usr/bin/booth-service"));
  layOutFiles(root, stage);
  const packages = [...bundle.packages, ...closureOf(root, SERVICE_EXTERNAL), nodePackage(root, architecture, cache)];
  layOutPapers({ root, stage, version, made_at }, "booth-service", packages);
}

/** The launcher is the only file that names the folder of this version. */
function launcherText(folder: string): string {
  return `#!/${folder}/bin/node
"use strict";
// Keeps compiled code in the folder that the service manager gives, if any.
if (process.env.CACHE_DIRECTORY) require("node:module").enableCompileCache(process.env.CACHE_DIRECTORY);
void import("/${folder}/service/service.js").then(({ main }) => main(process.argv.slice(2)));
`;
}

/** Lays out units, users, and examples of configuration. */
function layOutFiles(root: string, stage: string): void {
  const fleet = join(root, "systemd/fleet");
  for (const name of readdirSync(fleet)) {
    const content = readFileSync(join(fleet, name));
    if (/\.(?:service|target)$/.test(name)) put(join(stage, UNITS, name), content);
    else if (name.endsWith(".sysusers")) put(join(stage, "usr/lib/sysusers.d/booth-service.conf"), content);
    else put(join(stage, SHARED, name), content);
  }
  for (const [from, to] of [
    ["config/fleet", "fleet"],
    ["config/monitoring", "monitoring"],
  ] as const) {
    const names = readdirSync(join(root, from)).filter((name) => !name.startsWith("booth-gateway"));
    for (const name of names) put(join(stage, SHARED, to, name), readFileSync(join(root, from, name)));
  }
  for (const name of readdirSync(join(root, "docs/service")))
    put(join(stage, DOC, name), readFileSync(join(root, "docs/service", name)));
}
