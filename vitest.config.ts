import { defineConfig } from "vitest/config";

/**
 * Tests named *.gear.test.ts need Debian packages or root, *.long.test.ts up to a minute each: both run in .ci/run after these.
 * *.nightly.test.ts take longer still.
 */
export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/**/*.gear.test.ts", "test/**/*.long.test.ts", "test/**/*.nightly.test.ts"],
    testTimeout: 180_000,
    hookTimeout: 60_000,
    globalSetup: ["test/scenarios/table.ts"],
    pool: "forks",
    maxWorkers: 2,
    // A worker serves many files: to load everything anew for each of 230 took a third of the time.
    isolate: false,
  },
});
