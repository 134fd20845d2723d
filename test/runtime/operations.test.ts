import { globSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

/** Whoever looks after gateways finds every alarm in the reference, by the name that it has in the journal or as an incident. */

const PAGE = readFileSync("docs/reference/alarms.md", "utf8");

/** Names that the pattern's first group finds in those files, in the order of the alphabet. */
function named(files: string, pattern: RegExp): string[] {
  const texts = globSync(files).map((file) => readFileSync(file, "utf8"));
  return texts.flatMap((text) => [...text.matchAll(pattern)].map(([, name = ""]) => name));
}

const sorted = (names: readonly string[]): string[] => [...new Set(names)].sort();

/** Returns the names in the first column of the table under that heading. */
function rowsUnder(heading: string): string[] {
  const section = PAGE.split(`\n## ${heading}\n`)[1]?.split("\n## ")[0] ?? "";
  const cells = [...section.matchAll(/^\| ((?:`[a-z_]+`(?:, )?)+) /gm)].map(([, cell = ""]) => cell);
  return sorted(cells.flatMap((cell) => [...cell.matchAll(/`([a-z_]+)`/g)].map(([, name = ""]) => name)));
}

it("the alarms reference lists exactly the log events that are warnings or errors in the code", () => {
  const direct = named("src/**/*.ts", /\.(?:warn|error)\(\s*\{\s*event: "([a-z_]+)"/g);
  const by_fields = named("src/**/*.ts", /const fields = \{\s*event: "([a-z_]+)"/g);
  const by_choice = named("src/**/*.ts", /(?<=const event = \w+ \? (?:"[a-z_]+" : )?)"([a-z_]+)"/g);
  expect(direct.length).toBeGreaterThan(20);
  expect(rowsUnder("Alarms in the journal")).toEqual(sorted([...direct, ...by_fields, ...by_choice]));
});

it("the alarms reference lists exactly the kinds of incidents that the agent can raise", () => {
  const derived = named("src/derivation/**/*.ts", /\b(?:check: |reportConfig\([^"]*(?:"", )?)"([a-z_]+)"/g);
  const acquired = named("src/acquisition/rules/change-filter.ts", /: \["([a-z_]+)", /g);
  const told = named("src/{acquisition,delivery,provisioning,runtime}/**/*.ts", /\btell\(\s*"([a-z_]+)",\s/g);
  const recorded = named(
    "src/{acquisition,delivery,provisioning,runtime,domain}/**/*.ts",
    /\bevent: "([a-z_]+)", detail/g,
  );
  const stored = named("src/store/**/*.ts", /VALUES \(\?, '([a-z_]+)', \?\)/g);
  for (const names of [derived, acquired, told, recorded, stored]) expect(names.length).toBeGreaterThan(0);
  expect(rowsUnder("Incidents of a booth")).toEqual(sorted([...derived, ...acquired, ...told, ...recorded, ...stored]));
});
