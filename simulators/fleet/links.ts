import { createMqttLink } from "../../src/delivery/mqtt/link.ts";
import type { LinkAccount, ServiceLink } from "../../src/delivery/port.ts";
import type { Clock } from "../../src/domain/machine.ts";
import { ServiceLinkError } from "../../src/domain/link-error.ts";
import { type TcpProxy, tcpProxy } from "../network/tcp-proxy.ts";
import { countingLog, NO_SERVICE_TIME } from "./gateway.ts";
import type { Meter } from "./meter.ts";

/** Additional delay of messages to a slow reader. */
const SLOW_MS = 1_500;

/** Links to the brokers, made by the agent's own code. */
export interface Links {
  readonly of: (account: LinkAccount, isSlow: boolean) => ServiceLink;
  /** No broker is reachable, as in an outage of a network provider. */
  isAway: boolean;
  close(): Promise<void>;
}

interface LinksSetup {
  readonly clock: Clock;
  readonly meter: Meter;
  /** Certificate of the authority of the brokers' certificates, PEM. */
  readonly ca?: string | undefined;
}

export function mqttLinks({ clock, meter, ca }: LinksSetup): Links {
  const log = countingLog(meter);
  /** A shared link for all gateways of a broker, so that the broker's protocol version is detected once. */
  const byUrl = new Map<string, ServiceLink>();
  const slow = new Map<string, Promise<TcpProxy>>();
  const linkTo = (url: string): ServiceLink => {
    const own = {
      clock,
      log,
      service_time: NO_SERVICE_TIME,
      agentVersion: "0.0.0",
      ...(ca === undefined ? {} : { ca }),
    };
    const link = byUrl.get(url) ?? createMqttLink(own);
    byUrl.set(url, link);
    return link;
  };
  const slowWayTo = async (url: string): Promise<string> => {
    const { protocol, hostname, port } = new URL(url);
    const faults = { direction: "answers", delay_ms: SLOW_MS } as const;
    const proxy = slow.get(url) ?? tcpProxy({ target: { host: hostname, port: Number(port) }, faults });
    slow.set(url, proxy);
    return `${protocol}//127.0.0.1:${(await proxy).port}`;
  };
  const links: Links = {
    isAway: false,
    of: ({ url }, isSlow) => ({
      async connect(account, signal) {
        if (links.isAway) throw new ServiceLinkError("unreachable", "there is no way to any broker");
        const way = isSlow ? await slowWayTo(url) : url;
        return linkTo(way).connect({ ...account, url: way, ws_url: null }, signal);
      },
    }),
    async close() {
      for (const proxy of slow.values()) await (await proxy).close();
    },
  };
  return links;
}
