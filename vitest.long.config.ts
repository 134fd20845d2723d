import { defineConfig } from "vitest/config";

/** Ten seconds to a minute each, without gear: after the others, so that `npm test` stays under three minutes. */
export default defineConfig({
  test: {
    include: ["test/**/*.long.test.ts"],
    testTimeout: 600_000,
    hookTimeout: 600_000,
    globalSetup: ["test/scenarios/table.ts"],
    pool: "forks",
    // Each waits for sockets and time-outs almost half of its time: a third fills the gaps of the two.
    maxWorkers: 3,
    // A worker serves many files: to load everything anew for each took a tenth of the time.
    isolate: false,
  },
});
