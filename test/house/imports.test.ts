import { execFile } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { temporaryFolder } from "../support/temporary.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** A violation of each rule: who imports, and what. Packages and Node's modules by their names. */
const PLANTED = [
  ["src/domain/planted", "src/derivation/state"],
  ["src/domain/planted-node", "node:fs"],
  ["src/derivation/planted", "src/store/port"],
  ["src/derivation/planted-package", "zod"],
  ["src/derivation/planted-clock", "src/monotonic"],
  ["src/store/planted", "src/reports/modes"],
  ["src/store/planted-settings", "src/config/config"],
  ["src/store/planted-repair", "src/store/repair/pages"],
  ["src/store/log/planted", "src/store/retention/budget"],
  ["src/store/retention/planted", "src/store/log/rows"],
  ["src/runtime/planted-repair", "src/store/repair/pages"],
  ["src/reports/planted", "src/store/thread/writer"],
  ["src/reports/planted-node", "node:fs"],
  ["src/acquisition/modbus/planted", "src/acquisition/opcua/driver"],
  ["src/acquisition/opcua/planted", "src/acquisition/modbus/driver"],
  ["src/acquisition/planted", "src/delivery/port"],
  ["src/acquisition/rules/planted", "src/acquisition/intake"],
  ["src/acquisition/rules/planted-node", "node:fs"],
  ["src/acquisition/rules/planted-clock", "src/monotonic"],
  ["src/contract/planted", "src/delivery/port"],
  ["src/contract/planted-node", "node:crypto"],
  ["src/delivery/planted", "src/acquisition/port"],
  ["src/delivery/planted-store", "src/store/thread/writer"],
  ["src/delivery/planted-package", "better-sqlite3"],
  ["src/delivery/mqtt/planted", "src/delivery/http/client"],
  ["src/delivery/http/planted", "src/delivery/mqtt/link"],
  ["src/delivery/rules/planted", "src/delivery/sender"],
  ["src/provisioning/planted", "src/delivery/sender"],
  ["src/config/planted", "src/contract/time"],
  ["src/tools/planted", "src/delivery/sender"],
  ["src/api/planted", "src/runtime/agent"],
  ["src/cli/planted", "src/acquisition/intake"],
  ["src/runtime/planted", "simulators/clock"],
  ["src/runtime/planted-command", "src/cli/options"],
  ["src/main", "src/domain/units"],
  ["simulators/planted", "src/derivation/state"],
  ["simulators/planted-rules", "src/domain/time-zone"],
  ["simulators/service/base/planted", "simulators/service/storage/db"],
  ["simulators/service/figures/planted", "simulators/service/http/operation"],
  ["simulators/service/http/planted", "simulators/service/resources/openapi"],
  ["simulators/service/http/planted-package", "pg"],
  ["simulators/service/resources/planted", "simulators/service/start"],
  ["simulators/service/planted", "simulators/site/site"],
  ["systemd/planted", "src/domain/units"],
  ["src/domain/circle-a", "src/domain/circle-b"],
] as const;

/** As the stations may: none of them is told. */
const ALLOWED = [
  // A circle is told once, at its first file.
  ["src/domain/circle-b", "src/domain/circle-a"],
  ["src/derivation/allowed", "src/domain/units"],
  ["src/store/allowed", "src/store/repair/salvage"],
  ["src/provisioning/allowed", "src/delivery/port"],
  ["src/acquisition/modbus/allowed", "src/acquisition/rules/plan"],
  ["src/contract/hash", "node:crypto"],
  ["src/acquisition/allowed-clock", "src/monotonic"],
  ["src/runtime/allowed", "src/delivery/sender"],
  ["src/runtime/commands", "src/cli/options"],
  ["simulators/allowed", "src/domain/units"],
  ["simulators/site/allowed", "simulators/service/start"],
  ["simulators/service/allowed", "simulators/service/resources/table"],
  ["simulators/service/resources/allowed", "simulators/service/figures/summary"],
] as const;

interface Violation {
  readonly from: string;
  readonly to: string;
}

const isFile = (to: string): boolean => to.includes("/") && !to.startsWith("node:");

function plant(folder: string): void {
  const imports = Map.groupBy([...PLANTED, ...ALLOWED], ([from]) => from);
  const targets = [...PLANTED, ...ALLOWED].map(([, to]) => to).filter(isFile);
  for (const file of new Set<string>([...imports.keys(), ...targets])) {
    const own = (imports as ReadonlyMap<string, readonly (readonly [string, string])[]>).get(file) ?? [];
    const specs = own.map(([, to]) => (isFile(to) ? relative(dirname(file), `${to}.ts`).replace(/^(?!\.)/, "./") : to));
    mkdirSync(join(folder, dirname(file)), { recursive: true });
    writeFileSync(
      join(folder, `${file}.ts`),
      [...specs.map((spec) => `import "${spec}";`), "export {};", ""].join("\n"),
    );
  }
  writeFileSync(join(folder, "tsconfig.json"), "{}");
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
}

function violationsIn(folder: string): Promise<readonly Violation[]> {
  const program = join(ROOT, "node_modules/.bin/depcruise");
  const config = ["--config", join(ROOT, ".dependency-cruiser.cjs"), "--output-type", "json"];
  return new Promise((resolve, reject) => {
    const options = { cwd: folder, maxBuffer: 32_000_000 };
    // Its exit code is the number of violations.
    execFile(program, [...config, "src", "simulators", "systemd"], options, (error, out) => {
      if (out === "") reject(error ?? new Error("depcruise said nothing"));
      else resolve((JSON.parse(out) as { summary: { violations: Violation[] } }).summary.violations);
    });
  });
}

it("the import check reports an import against each architecture rule, and accepts allowed imports", async () => {
  const folder = temporaryFolder();
  plant(folder);
  const found = await violationsIn(folder);
  const told = new Set(found.map(({ from }) => from.replace(/\.ts$/, "")));
  expect(PLANTED.map(([from]) => from).filter((from) => !told.has(from))).toEqual([]);
  expect([...told].filter((from) => PLANTED.every(([planted]) => planted !== from))).toEqual([]);
});
