import { execFileSync } from "node:child_process";

/** What npm's list says of itself, which differs each time. */
interface Bom {
  serialNumber?: string;
  metadata: { timestamp?: string; tools?: unknown; component: { name: string; type: string; version: string } };
}

/** Everything that goes into the agent, as CycloneDX JSON, from the lock file. Same lock file, same text. */
export function sbomText(root: string, made_at: Date): string {
  const args = ["sbom", "--sbom-format", "cyclonedx", "--omit", "dev", "--package-lock-only"];
  const text = execFileSync("npm", args, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  // npm's own shape.
  const bom = JSON.parse(text) as Bom;
  delete bom.serialNumber;
  delete bom.metadata.tools;
  bom.metadata.timestamp = made_at.toISOString();
  bom.metadata.component.name = "booth-gateway";
  bom.metadata.component.type = "application";
  return `${JSON.stringify(bom, null, 1)}\n`;
}
