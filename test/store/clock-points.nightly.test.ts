/** Tests boots without the time that start or are synchronized at a thousand points each. */
process.env["LAW_RUNS"] = "1000";

await import("./clock-points.long.test.ts");

export {};
