import { it } from "vitest";
import { surviveHostilePackets } from "./hostile-broker.ts";

it("10,000 MQTT sessions with a hostile broker end without a crash, and ack no record", () =>
  surviveHostilePackets(10_000));
