import { it } from "vitest";
import { surviveHostilePackets } from "./hostile-broker.ts";

it("10,000 sessions with a hostile broker end in order and ack nothing", () => surviveHostilePackets(10_000));
