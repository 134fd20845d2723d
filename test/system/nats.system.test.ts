// Needs Debian packages: nats-server, postgresql-15.
import { brokerFleet } from "../fleet/broker-fleet.ts";
import { outageRow } from "./broker-outages.ts";
import { nats } from "./nats.ts";

outageRow({ name: "NATS 2.9", make: nats, mqtt: { version: "3.1.1", why: /^/ }, quick: 3 });

brokerFleet({ name: "NATS 2.9", make: nats, way: "plain" });
