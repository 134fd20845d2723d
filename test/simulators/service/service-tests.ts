import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../../support/temporary.ts";

export interface Counted {
  readonly numPassedTests: number;
  readonly numTotalTests: number;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly failureMessages?: readonly string[] }[];
  }[];
}

/** Returns the failed files and tests with their messages. */
export function failuresIn({ testResults }: Counted): readonly string[] {
  return testResults
    .filter(({ status }) => status !== "passed")
    .flatMap(({ name, message, assertionResults }) => {
      const failed = assertionResults.filter(({ failureMessages = [] }) => failureMessages.length > 0);
      const why = failed.map(({ fullName, failureMessages = [] }) => `${fullName}: ${failureMessages.join("; ")}`);
      return [`${name} ${message}`, ...why];
    });
}

/** Runs files of the service's tests, each service in them on a database of its own. */
export async function runServiceTests(names: readonly string[]): Promise<Counted> {
  const file = join(temporaryFolder(), "tests.json");
  const files = names.map((name) => `test/simulators/service/${name}.test.ts`);
  const projects = ["unit", "long", "nightly"].flatMap((name) => ["--project", name]);
  const argv = ["vitest", "run", ...projects, "--reporter", "json", "--outputFile", file, ...files];
  await new Promise((resolve) => execFile("npx", argv, { env: process.env, maxBuffer: 2 ** 26 }, resolve));
  return JSON.parse(readFileSync(file, "utf8")) as Counted;
}
