import { it } from "vitest";
import { surviveHostilePackets } from "./hostile-broker.ts";

it("whatever a broker sends, 10,000 sessions end in order and ack nothing", () => surviveHostilePackets(10_000));
