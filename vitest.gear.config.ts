import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.gear.test.ts", "test/**/*.long.test.ts"],
    testTimeout: 600_000,
    hookTimeout: 600_000,
    globalSetup: ["test/scenarios/table.ts"],
    pool: "forks",
    maxWorkers: 1,
  },
});
