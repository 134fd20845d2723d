import { it } from "vitest";
import { rideStorm } from "../support/storm-run.ts";

it("100,000 records through kills, lost and doubled acks, cut bodies, two hours offline and an older store arrive once", () =>
  rideStorm("delivery storm of 100,000", {
    records: 115_000,
    rounds: 20,
    speed: 60,
    backlog_records_per_s: 15,
    away_ms: 2 * 3_600_000,
    pause_ms: 1_500,
    cut_chance: 0.01,
    within_ms: 1_800_000,
  }));
