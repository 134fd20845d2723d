/** Runs two thousand bit flips in the store, and as many in the identity. */
process.env["LAW_RUNS"] = "2000";

await import("./bit-rot.long.test.ts");

export {};
