// Needs a Debian package: rabbitmq-server.
import { outageRow } from "./broker-outages.ts";
import { rabbitmq } from "./rabbitmq.ts";

/** Few restarts: each takes some seconds. */
outageRow({
  name: "RabbitMQ 3.10",
  make: rabbitmq,
  mqtt: { version: "3.1.1", why: /^since the broker closes the connection at MQTT 5/ },
  quick: 1,
});
