import { defineConfig } from "vitest/config";

/** Ten seconds to a minute each, without gear: after the others, so that `npm test` stays under three minutes. */
export default defineConfig({
  test: {
    include: ["test/**/*.long.test.ts"],
    testTimeout: 600_000,
    hookTimeout: 600_000,
    globalSetup: ["test/scenarios/table.ts"],
    pool: "forks",
    maxWorkers: 2,
    isolate: false,
  },
});
