import { readCertificates } from "../credential-files.ts";
import { connectOnce, keepPoolSmall, typedError } from "../delivery/mqtt/dial.ts";
import { type BrokerMessage, type Refusal, refusalText } from "../delivery/mqtt/publish.ts";
import { brokerSession } from "../delivery/mqtt/session.ts";
import { ServiceLinkError } from "../domain/link-error.ts";
import type { NoticeOutcome } from "../domain/notice.ts";
import { say } from "../domain/sentences.ts";
import { onAbort } from "../domain/signal.ts";
import { adviceOf } from "./advice.ts";
import type { Channel, NoticeMessage, OpenChannel } from "./port.ts";

/** Publishes a notice on a topic. Each message has a connection of its own, as notices are few. */
export const openMqtt: OpenChannel = (machine, { name, mqtt }): Channel => {
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
  return async (message, signal) => {
    keepPoolSmall();
    try {
      const connected = await connect(signal);
      const refusals: Refusal[] = [];
      const refused = (refusal: Refusal): void => void refusals.push(refusal);
      const session = brokerSession(connected, { ignored: () => undefined, refused });
      const aborted = new Promise<never>((_, reject) => {
        onAbort(signal, () => reject(new ServiceLinkError("no_ack", say("output.no_confirm"))));
      });
      try {
        for (const document of shorterAndShorter(message)) {
          const count = refusals.length;
          const payload = JSON.stringify(document);
          const published: BrokerMessage = { topic, payload, qos: 1, retain: false };
          await Promise.race([session.send([published]), aborted]);
          if (refusals.length === count) return { kind: "delivered", answer: say("notice.broker_has_it", { topic }) };
          if (refusals.at(-1)?.kind === "refused") break;
        }
        return refusedOutcome(refusals);
      } catch (error) {
        // The connection ended after the message was sent: nobody knows whether the broker has it.
        return { ...failed(error), kind: "unknown" };
      } finally {
        await session.close([]);
      }
    } catch (error) {
      return failed(error);
    }
  };
};

/** The document, then, for a broker that takes short packets only, its text without the events. */
function shorterAndShorter({ document }: NoticeMessage): readonly object[] {
  const { events = [], more = 0 } = document as { readonly events?: readonly unknown[]; readonly more?: number };
  return events.length === 0 ? [document] : [document, { ...document, events: [], more: more + events.length }];
}

/** The topic is refused, or the shortest form is too long: a person has to change something. */
function refusedOutcome(refusals: readonly Refusal[]): NoticeOutcome {
  const last = refusals.at(-1);
  const reason = last === undefined ? "" : refusalText(last);
  const advice = adviceOf(last?.kind === "refused" ? "topic" : "limit");
  return { kind: "not_delivered", reason, advice, lasting: true, again_ms: null };
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
