import { silentLog } from "../../support/silent-log.ts";
import { expect, it } from "vitest";
import { createServiceTime } from "../../../src/acquisition/clock.ts";
import { createMqttLink } from "../../../src/delivery/mqtt/link.ts";
import { virtualClock } from "../../../simulators/virtual/clock.ts";

const account = {
  gateway_id: "g",
  credential: "secret",
  client_id: "g",
  username: "g",
  confirmed_by: "service" as const,
  topic_prefix: "bg/v1/g",
};

it.each(["mqtt://broker.example:1883", "ws://10.0.0.1/mqtt", "http://127.0.0.1.example"])(
  "never sends the credential to %s: no TLS, and not this machine",
  async (url) => {
    const link = createMqttLink({
      clock: virtualClock({ wall: 0 }),
      service_time: createServiceTime(),
      agentVersion: "0",
      log: silentLog,
    });
    await expect(link.connect({ ...account, url, ws_url: null }, new AbortController().signal)).rejects.toThrow(
      "without TLS nothing is sent",
    );
  },
);
