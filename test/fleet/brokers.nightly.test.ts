// Needs Debian packages: mosquitto, rabbitmq-server, nats-server, postgresql-15. Some 100 s each.
import { brokerFleet } from "./broker-fleet.ts";
import { smallBroker } from "./small-site.ts";
import { nats } from "../system/nats.ts";
import { rabbitmq } from "../system/rabbitmq.ts";

brokerFleet({ name: "mosquitto 2.0", make: smallBroker, way: "shared" });
brokerFleet({ name: "RabbitMQ 3.10", make: (folder) => rabbitmq(folder, { isOpenDoor: true }), way: "plain" });
brokerFleet({ name: "NATS 2.9", make: nats, way: "plain" });
