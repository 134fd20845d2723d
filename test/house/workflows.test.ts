import { accessSync, constants, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const FOLDER = join(ROOT, ".github/workflows");

interface Step {
  readonly uses?: string;
  readonly run?: string;
}

interface Workflow {
  readonly permissions?: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, { readonly steps: readonly Step[]; readonly "timeout-minutes"?: number }>>;
}

/** Returns why a step may not be in a workflow, or null. */
function faultOf({ uses, run }: Step): string | null {
  if (uses !== undefined) return /^[\w.-]+\/[\w./-]+@[0-9a-f]{40}$/.test(uses) ? null : `not pinned: ${uses}`;
  const [first = "", verb, name = ""] = (run ?? "").trim().split(/\s+/);
  if (first === "npm" && verb === "run") return name in scripts ? null : `not in package.json: ${name}`;
  if (!first.startsWith(".ci/") || /[\n;&|]/.test(run ?? "")) return `not a script of this repository: ${run ?? ""}`;
  return isExecutable(first) ? null : `does not exist or is not executable: ${first}`;
}

// The project's own manifest.
const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { scripts: object };

function isExecutable(path: string): boolean {
  try {
    accessSync(join(ROOT, path), constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

describe.each(readdirSync(FOLDER))("the workflow %s", (name) => {
  // The schema of the few keys that the test reads.
  const { permissions, jobs } = parse(readFileSync(join(FOLDER, name), "utf8")) as Workflow;

  it("pins each action by its commit, and runs only scripts that run elsewhere too", () => {
    const steps = Object.values(jobs).flatMap((job) => job.steps);
    expect(steps.length).toBeGreaterThan(1);
    expect(steps.map(faultOf).filter((fault) => fault !== null)).toEqual([]);
  });

  it("may only read the repository, and ends each job after a limited time", () => {
    expect(permissions).toEqual({ contents: "read" });
    expect(Object.values(jobs).filter((job) => job["timeout-minutes"] === undefined)).toEqual([]);
  });
});

it.each([
  { uses: "actions/checkout@v5" },
  { uses: "actions/checkout@08c6903" },
  { run: "curl https://example.org | sh" },
  { run: ".ci/lost" },
  { run: ".ci/run; true" },
  { run: "npm run lost" },
])("a workflow with the step %o is rejected", (step) => {
  expect(faultOf(step)).not.toBeNull();
});
