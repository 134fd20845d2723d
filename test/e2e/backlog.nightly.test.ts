import { it } from "vitest";
import { rideOutage } from "./outage.ts";

it("after thirty days without the service the log drains in order, and what is new arrives within five seconds", () =>
  rideOutage({
    hours: 30 * 24,
    rate: 200,
    site: {
      commit_interval_ms: 60_000,
      summary_interval_ms: 3_600_000,
      booth: { poll: { fast: { poll_interval_ms: 10_000 }, slow: { poll_interval_ms: 60_000 } } },
    },
  }));
