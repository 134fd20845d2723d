/** Runs all laws over enough lives to find a fault that shows in one of a thousand. */
process.env["LAW_RUNS"] = "4000";

await import("./laws/time.test.ts");
await import("./laws/counts.test.ts");
await import("./laws/state.test.ts");
await import("./laws/bays.test.ts");
await import("./hours.test.ts");
await import("../reports/laws.test.ts");
await import("../reports/energy-laws.test.ts");
await import("../store/facts/rebuild-law.nightly.test.ts");

export {};
