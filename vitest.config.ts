import { defineConfig } from "vitest/config";

/** Tests named *.gear.test.ts need Debian packages or root and run in .ci/run; *.nightly.test.ts are long. */
export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/**/*.gear.test.ts", "test/**/*.nightly.test.ts"],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    globalSetup: ["test/scenarios/table.ts"],
    pool: "forks",
    maxWorkers: 2,
  },
});
