import { execFileSync } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inject } from "vitest";

/** The version of the release that the tests of a run share. */
export const CANDIDATE = "1.0.0-rc.1";

/** Keeps Debian's files of the images between runs. */
const BASE = join(tmpdir(), "booth-gateway-image-base");

/**
 * Returns the folder of a release for this machine's architecture, without the documents. The first call in a run makes
 * it by a dry run; later calls reuse it.
 */
export function releaseHere(): string {
  const out = join(inject("packages"), "release");
  const options = ["--dry-run", "--quick", "--arch", "amd64", "--skip", "docs", "--base", BASE, "--out", out];
  const making = [process.execPath, "systemd/release/main.ts", CANDIDATE, ...options];
  // Parallel calls wait for the lock.
  execFileSync("flock", [`${out}.lock`, "sh", "-c", '[ -e "$0" ] || exec "$@"', join(out, "SHA256SUMS"), ...making], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  return out;
}

/** Returns the commands of that numbered step of a document, each a line of its code block. */
export function stepOf(document: string, step: number): string {
  const found = new RegExp(`^${step}\\..*?\`\`\`\\w*\\n(.*?)\`\`\``, "ms").exec(document)?.[1];
  if (found === undefined) throw new Error(`the document has no commands in step ${step}`);
  return found
    .split("\n")
    .map((line) => line.trim())
    .join("\n");
}
