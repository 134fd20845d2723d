import { defineConfig } from "vitest/config";
import usual from "./vitest.config.ts";

/** Branches of `src` that the tests reach; test/coverage makes a table by folder of it. */
export default defineConfig({
  test: {
    ...usual.test,
    exclude: ["test/**/*.gear.test.ts", "test/**/*.nightly.test.ts"],
    testTimeout: 600_000,
    coverage: {
      provider: "v8",
      include: ["src/**/*.ts"],
      reporter: ["json"],
      reportsDirectory: "test/results/coverage",
      reportOnFailure: true,
    },
  },
});
