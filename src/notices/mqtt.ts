import { readCertificates } from "../credential-files.ts";
import { connectOnce, keepPoolSmall, typedError } from "../delivery/mqtt/dial.ts";
import { ServiceLinkError } from "../domain/link-error.ts";
import type { NoticeOutcome } from "../domain/notice.ts";
import { say } from "../domain/sentences.ts";
import type { Milliseconds } from "../domain/units.ts";
import { adviceOf } from "./advice.ts";
import type { Channel, OpenChannel } from "./port.ts";

/** By a message to a topic. A connection for each, as notices are few. */

/** From the message's sending to the broker's word that it has it. */
const CONFIRM_MS: Milliseconds = 15_000;

export const openMqtt: OpenChannel = (machine, { name, mqtt }): Channel => {
  if (mqtt === undefined) throw new Error("a notice without MQTT is none by MQTT");
  const { url, mqtt_version, topic, user, password_file, ca_file } = mqtt;
  const connect = (signal: AbortSignal) =>
    connectOnce(
      {
        ...{ url, client_id: `booth-gateway-${machine.gateway_id}-notice-${name}` },
        ...(user === undefined ? {} : { username: user }),
        ...(password_file === undefined ? {} : { password: machine.secret(password_file) }),
        ...(ca_file === undefined ? {} : { ca: readCertificates(ca_file) }),
        protocol: mqtt_version === "v5" ? 5 : 4,
      },
      signal,
    );
  return async ({ document }, signal) => {
    keepPoolSmall();
    try {
      const { client } = await connect(signal);
      // What breaks off meanwhile is told by the close.
      client.on("error", () => undefined);
      try {
        await published((done) => client.publish(topic, JSON.stringify(document), { qos: 1, retain: false }, done), {
          closed: new Promise<void>((resolve) => client.once("close", () => resolve())),
          signal,
        });
        return { kind: "delivered", answer: say("notice.broker_has_it", { topic }) };
      } catch (error) {
        const said = failed(error);
        return error instanceof ServiceLinkError && error.fault === "no_ack" ? { ...said, kind: "unknown" } : said;
      } finally {
        client.end(false);
      }
    } catch (error) {
      return failed(error);
    }
  };
};

/** Resolves once the broker has it. Rejects with no_ack where nobody knows whether it does. */
function published(
  publish: (done: (error?: Error | null) => void) => void,
  { closed, signal }: { readonly closed: Promise<unknown>; readonly signal: AbortSignal },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const lost = (): void => reject(new ServiceLinkError("no_ack", "the broker doesn't confirm what it was sent"));
    const timer = setTimeout(lost, CONFIRM_MS).unref();
    signal.addEventListener("abort", lost, { once: true });
    void closed.then(lost);
    publish((error) => {
      clearTimeout(timer);
      if (error) reject(typedError(error));
      else resolve();
    });
  });
}

function failed(error: unknown): Extract<NoticeOutcome, { kind: "not_delivered" | "unknown" }> {
  const typed = typedError(error);
  return {
    kind: "not_delivered",
    reason: typed.message,
    advice: adviceOf(typed.fault),
    lasting: false,
    again_ms: null,
  };
}
