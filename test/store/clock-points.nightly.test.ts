/** Boots without the time, begun or put right at a thousand points each. */
process.env["LAW_RUNS"] = "1000";

await import("./clock-points.long.test.ts");

export {};
