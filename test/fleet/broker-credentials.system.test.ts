// Needs Debian packages: mosquitto, openssl.
import { brokerCredentials } from "./broker-credentials.ts";
import { shippedMosquitto } from "./shipped-brokers.ts";

brokerCredentials("mosquitto", shippedMosquitto);
