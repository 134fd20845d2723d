import { message } from "../domain/message.ts";
import { readCertificates } from "../credential-files.ts";
import { connectOnce, keepPoolSmall, typedError } from "../delivery/mqtt/dial.ts";
import { type Refusal, refusalText } from "../delivery/mqtt/publish.ts";
import { brokerSession } from "../delivery/mqtt/session.ts";
import { ServiceLinkError } from "../domain/link-error.ts";
import type { NoticeOutcome } from "../domain/notice.ts";
import { onAbort } from "../domain/signal.ts";
import { failure } from "./failure.ts";
import type { NoticeMessage, OpenChannel } from "./port.ts";

/** Publishes notices on a topic over a new connection each time, because notices are few. */
export const openMqtt: OpenChannel = (machine, { name, mqtt }) => {
  if (mqtt === undefined) throw new Error("a notice without MQTT is none by MQTT");
  const { url, mqtt_version, topic, user, password_file, ca_file } = mqtt;
  const connect = (signal: AbortSignal) =>
    connectOnce(
      {
        url,
        client_id: `booth-gateway-${machine.gateway_id}-notice-${name}`,
        ...(user === undefined ? {} : { username: user }),
        ...(password_file === undefined ? {} : { password: machine.secret(password_file) }),
        ...(ca_file === undefined ? {} : { ca: readCertificates(ca_file) }),
        protocol: mqtt_version === "v5" ? 5 : 4,
        own_pings: true,
      },
      signal,
    );
  return async (notice, signal) => {
    keepPoolSmall();
    // Remembers whether a message was sent: if the connection ends afterwards, the broker may have the message.
    let isSent = false;
    try {
      const connected = await connect(signal);
      const refusals: Refusal[] = [];
      const refused = (refusal: Refusal): void => void refusals.push(refusal);
      const session = brokerSession(connected, { ignored: () => undefined, refused });
      const aborted = new Promise<never>((_, reject) => {
        onAbort(signal, () => reject(new ServiceLinkError("no_ack", message("output.no_confirm"))));
      });
      isSent = true;
      try {
        for (const document of shorterAndShorter(notice)) {
          const count = refusals.length;
          const payload = JSON.stringify(document);
          await Promise.race([session.send([{ topic, payload, qos: 1, retain: false }]), aborted]);
          if (refusals.length === count)
            return { kind: "delivered", answer: message("notice.broker_has_it", { topic }) };
          if (refusals.at(-1)?.kind === "refused") break;
        }
        return refusedOutcome(refusals.at(-1));
      } finally {
        await session.close([]);
      }
    } catch (error) {
      const typed = typedError(error);
      return failure(isSent ? "unknown" : "not_delivered", typed.fault, typed.text);
    }
  };
};

/** Returns the document, then a version without the events, for a broker that accepts only short packets. */
function shorterAndShorter({ document }: NoticeMessage): readonly object[] {
  const { events = [], more = 0 } = document as { readonly events?: readonly unknown[]; readonly more?: number };
  return events.length === 0 ? [document] : [document, { ...document, events: [], more: more + events.length }];
}

/** Returns the outcome if the broker refuses the topic, or if even the shortest version is too long. A person has to change something. */
function refusedOutcome(last: Refusal | undefined): NoticeOutcome {
  const fault = last?.kind === "refused" ? "topic" : "limit";
  return { ...failure("not_delivered", fault, last === undefined ? "" : refusalText(last)), isPermanent: true };
}
