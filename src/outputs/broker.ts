import { readCertificatePair, readCertificates } from "../credential-files.ts";
import { connectOnce, keepPoolSmall, typedError } from "../delivery/mqtt/dial.ts";
import { brokerSession } from "../delivery/mqtt/session.ts";
import type { ConnectBroker, OutputMachine } from "./port.ts";

/** The reason code "disconnect with will message" (MQTT 5, 3.14.2.1). */
const DISCONNECT_WITH_WILL = 4;

/**
 * Returns a function that connects outputs to their brokers. It reads secrets and certificates at each connection, so a renewed file needs
 * no restart.
 */
export function brokerConnector({
  gateway_id,
  secret,
  meter,
}: Pick<OutputMachine, "gateway_id" | "secret" | "meter">): ConnectBroker {
  return async (config, { will: { payload, ...will }, ignored, refused, signal }) => {
    keepPoolSmall();
    const { user, password_file, ca_file, client_certificate_file: cert, client_key_file: key, mqtt_version } = config;
    const protocol = mqtt_version === "v5" ? 5 : 4;
    const connected = await connectOnce(
      {
        url: config.url,
        client_id: config.client_id ?? `booth-gateway-${gateway_id}-${config.name}`,
        ...(user === undefined ? {} : { username: user }),
        ...(password_file === undefined ? {} : { password: secret(password_file) }),
        ...(ca_file === undefined ? {} : { ca: readCertificates(ca_file) }),
        ...(cert === undefined || key === undefined ? {} : { certificate: readCertificatePair(cert, key) }),
        will: { ...will, payload: Buffer.from(payload) },
        protocol,
        // Turns off the library's pings, because the session's own pings confirm messages of QoS 0.
        own_pings: true,
        ...(meter === undefined ? {} : { counted: { meter, purposeOf: () => "outputs" as const } }),
      },
      signal,
    ).catch((error: unknown) => {
      throw typedError(error);
    });
    // Publishes the will at an orderly end only for Sparkplug, which requires it
    // (payloads-ndeath-will-message-publisher-disconnect-mqtt50). Other wills would only repeat the last message.
    const end_code = protocol === 5 && config.sparkplug !== undefined ? DISCONNECT_WITH_WILL : undefined;
    return brokerSession(connected, { ignored, refused, end_code });
  };
}
