// Needs Debian packages: nats-server, openssl, rabbitmq-server.
import { brokerCredentials } from "./broker-credentials.ts";
import { shippedNats, shippedRabbitmq } from "./shipped-brokers.ts";

brokerCredentials("NATS", shippedNats);
brokerCredentials("RabbitMQ", shippedRabbitmq);
