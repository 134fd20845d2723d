import { it } from "vitest";
import { rideStorm } from "./storm-run.ts";

it("100,000 records through kills, lost and doubled acks, cut bodies, two hours offline and an older store arrive once", () =>
  rideStorm("delivery storm of 100,000", {
    records: 118_000,
    rounds: 12,
    speed: 60,
    // Faster, so that a session sends a chunk before it ends; once the older store is put back everything goes in batches, one after the other.
    backlog_records_per_s: 60,
    least_chunks: 1,
    away_ms: 2 * 3_600_000,
    pause_ms: 1_000,
    cut_chance: 0.01,
    within_ms: 1_800_000,
  }));
