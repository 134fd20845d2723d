import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";

type Settings = NonNullable<TestProjectInlineConfiguration["test"]>;

/** A kind of tests, told by the end of its files' names; one kind runs after another where several are asked for. */
function kind(name: string, order: number, settings: Settings): TestProjectInlineConfiguration {
  const include = [`test/**/*.${name}.test.ts`];
  return {
    extends: true,
    test: { include, testTimeout: 600_000, hookTimeout: 600_000, ...settings, name, sequence: { groupOrder: order } },
  };
}

/** Each waits for sockets and time-outs a part of its time: a third worker fills the gaps of two cores, here and below. */
const USUAL = { testTimeout: 180_000, hookTimeout: 60_000, maxWorkers: 3 };
/** The setup that makes the Debian packages for several test files. */
const PACKAGES = ["test/system/packages.ts"];

export default defineConfig({
  test: {
    pool: "forks",
    setupFiles: ["test/support/property-runs.ts"],
    projects: [
      kind("unit", 0, {
        ...USUAL,
        include: ["test/**/*.test.ts"],
        exclude: ["isolated", "long", "system", "nightly"].map((name) => `test/**/*.${name}.test.ts`),
        // A worker serves many files: to load everything anew for each of 290 took a third of the time.
        isolate: false,
      }),
      // What changes its whole process (timers of all, V8's flags, Object.prototype) has one of its own. Part of npm test.
      kind("isolated", 0, USUAL),
      // Ten seconds to a minute each, after the others, so that npm test stays under three minutes.
      kind("long", 1, {
        maxWorkers: 3,
        // A worker serves many files: to load everything anew for each took a tenth of the time.
        isolate: false,
      }),
      // They need root and Debian packages (.ci/packages.txt): brokers, browsers, disks, a container with systemd.
      kind("system", 2, { globalSetup: PACKAGES, maxWorkers: 3 }),
      // Longer still, and not part of CI.
      kind("nightly", 3, { globalSetup: PACKAGES, testTimeout: 3_600_000, maxWorkers: 2 }),
    ],
    coverage: {
      provider: "v8",
      include: ["src/**/*.ts"],
      reporter: ["text", "json-summary"],
      reportsDirectory: "test/results/coverage",
      reportOnFailure: true,
      // Percent of the branches of the pure rules, all of them together.
      thresholds: { "src/{domain,derivation,*/rules}/**/*.ts": { branches: 95 } },
    },
  },
});
