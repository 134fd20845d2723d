// Needs a Debian package: mosquitto.
import { it } from "vitest";
import { rideStorm } from "./storm-run.ts";

it("agent, broker and service killed at random, acks lost and doubled, bodies cut, an older store put back: each record arrives once", () =>
  rideStorm("delivery storm", {
    records: 16_000,
    rounds: 2,
    speed: 60,
    backlog_records_per_s: 120,
    away_ms: 120_000,
    pause_ms: 300,
    cut_chance: 0.01,
    within_ms: 240_000,
  }));
