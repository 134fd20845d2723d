// Needs Debian packages: nats-server, openssl.
import { brokerCredentials } from "./broker-credentials.ts";
import { shippedNats } from "./shipped-brokers.ts";

brokerCredentials("NATS", shippedNats);
