// Needs a Debian package: nats-server.
import { outageRow } from "./broker-outages.ts";
import { nats } from "./nats.ts";

outageRow({ name: "NATS 2.9", make: nats, mqtt: { version: "3.1.1", why: /^/ }, quick: 3 });
