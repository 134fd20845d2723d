// Needs Debian packages: mosquitto, rabbitmq-server, nats-server, postgresql-15. Some 100 s each.
import { ofTest } from "../support/temporary.ts";
import { brokerFleet } from "./broker-fleet.ts";
import { mosquittoPart } from "./parts.ts";
import { nats } from "../system/nats.ts";
import { rabbitmq } from "../system/rabbitmq.ts";

brokerFleet({
  name: "mosquitto 2.0",
  async make(folder) {
    const broker = await mosquittoPart(folder, "broker", ofTest);
    await broker.start();
    return { ...broker, service: { url: broker.url.replace("//", "//service@"), password: "any" } };
  },
  way: "shared",
});

brokerFleet({ name: "RabbitMQ 3.10", make: (folder) => rabbitmq(folder, { isOpenDoor: true }), way: "plain" });
brokerFleet({ name: "NATS 2.9", make: nats, way: "plain" });
