import { it } from "vitest";
import { rideOutage } from "./outage.ts";

it("after an outage what is new arrives within seconds while the backlog drains beside it, each lane in order", () =>
  rideOutage({ hours: 8, rate: 20 }));
