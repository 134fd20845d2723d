import { it } from "vitest";
import { surviveHostilePackets } from "../support/hostile-sessions.ts";

it("whatever a broker sends, 20,000 sessions end in order and ack nothing", () => surviveHostilePackets(20_000));
