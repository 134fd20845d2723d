import { render } from "../../src/domain/messages/render.ts";
// Needs Debian packages: mosquitto, openssl.
import { describe, expect, it } from "vitest";
import type { ServiceLinkFault } from "../../src/domain/link-error.ts";
import type { LinkAccount } from "../../src/delivery/port.ts";
import { readCertificatePair } from "../../src/credential-files.ts";
import { outageRow } from "./broker-outages.ts";
import { deliveryBed, type DeliveryBed, type DeliveryBedOptions } from "../e2e/delivery-bed.ts";
import { deliveryRows, held, type RowBroker } from "../e2e/delivery-rows.ts";
import { freePort, mosquitto, type Listener, type Mosquitto } from "./mosquitto.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { testAuthority, type TestAuthority } from "../support/tls-files.ts";
import { MINUTE_MS, DAY_MS } from "../../src/domain/time.ts";

interface Rig {
  readonly broker: Mosquitto;
  readonly authority: TestAuthority;
  readonly options: DeliveryBedOptions;
}

interface RigOptions {
  readonly listeners: (authority: TestAuthority) => readonly Listener[];
  /** Chooses the URL from the listeners' ports. Default: the first listener, by IP address. */
  readonly url?: (ports: readonly number[]) => string;
}

/** Starts a broker that accepts the gateway as soon as the gateway connects with its credential. */
async function rig({ listeners, url }: RigOptions): Promise<Rig> {
  const folder = temporaryFolder();
  const authority = testAuthority(folder, "authority");
  const broker = await mosquitto(folder, listeners(authority));
  const known = new Set<string>();
  const letIn = ({ username, credential }: LinkAccount): Promise<void> => {
    if (!known.has(username)) broker.letIn(username, credential);
    known.add(username);
    return Promise.resolve();
  };
  const first = `mqtts://127.0.0.1:${broker.ports[0] ?? 0}`;
  return {
    broker,
    authority,
    options: {
      broker: broker.service,
      url: () => url?.(broker.ports) ?? first,
      link: { ca: authority.ca },
      connecting: letIn,
    },
  };
}

const goodTls = (authority: TestAuthority): Listener => ({ tls: authority.issue("broker.test") });

deliveryRows({
  name: "mosquitto",
  make: async (): Promise<RowBroker> => {
    const { broker, options } = await rig({ listeners: (authority) => [goodTls(authority), {}] });
    // The service needs a second to rejoin a restarted broker. Batches sent before that get no ack.
    const link = { ...options.link, ack_deadline_ms: 2_000 };
    return {
      options: { ...options, link },
      url: () => `mqtt://127.0.0.1:${broker.ports[1] ?? 0}`,
      strike: () => broker.restart(),
    };
  },
});

outageRow({
  name: "mosquitto",
  make: async (folder) => {
    const broker = await mosquitto(folder, [{}]);
    return { ...broker, url: `mqtt://127.0.0.1:${broker.ports[0] ?? 0}` };
  },
  mqtt: { version: "5", why: /^$/ },
  quick: 3,
});

async function active(bed: DeliveryBed) {
  const agent = await bed.start();
  await bed.until("the booth is active", () => agent.status().booths[0]?.provisioning.state === "active");
  return agent;
}

/** Returns the reason and advice that the agent reports for its link. */
type Agent = Awaited<ReturnType<DeliveryBed["start"]>>;
const reasonOf = (agent: Agent): string => {
  const { service } = agent.status();
  return service.kind === "down" ? `${render(service.reason)}; ${render(service.advice)}` : "";
};

describe("a wrong certificate of the broker (fault matrix row 34)", () => {
  const cases: readonly (readonly [
    ServiceLinkFault,
    RegExp,
    (good: TestAuthority, other: TestAuthority) => Listener,
  ])[] = [
    [
      "certificate_expired",
      /certificate has expired; .*has expired/,
      (good) => ({ tls: good.issue("broker.test", { days: -1 }) }),
    ],
    [
      "certificate_name",
      /is for other\.test, not for .*; .*belongs to another server/,
      (good) => ({ tls: good.issue("broker.test", { hosts: ["DNS:other.test"] }) }),
    ],
    [
      "certificate_chain",
      /; .*set service.ca_file to the intermediate or the authority/,
      (_, other) => ({ tls: other.issue("broker.test") }),
    ],
  ];

  it.each(cases)(
    "is reported with the reason for the fault %s, and records are buffered until the certificate is right",
    async (fault, says, listener) => {
      const way = { good: true };
      const { options, broker } = await rig({
        listeners: (authority) => [goodTls(authority), listener(authority, testAuthority(temporaryFolder(), "other"))],
        url: (ports) => `mqtts://127.0.0.1:${(way.good ? ports[0] : ports[1]) ?? 0}`,
      });
      way.good = false;
      const bed = await deliveryBed(options);
      const agent = await bed.start();
      await bed.until("the state is told", () => says.test(reasonOf(agent)));
      const tried = bed.connects();
      await bed.pass(30 * MINUTE_MS);
      const log = agent.status().booths[0]?.log;
      const waiting = (log?.newest_seq ?? 0) - (log?.acked_seq ?? 0);
      expect(log?.acked_seq).toBe(0);
      expect(waiting).toBeGreaterThan(50);
      // On average at most one attempt in two seconds, and at least one in two minutes.
      expect(bed.connects() - tried).toBeLessThan(90);
      expect(bed.connects() - tried).toBeGreaterThan(2);
      // The booth's record names the broker. A claim that wasn't verified in time is checked again.
      way.good = true;
      await bed.until("the booth is active", () => agent.status().booths[0]?.provisioning.state === "active");
      expect(broker.ports).toHaveLength(2);
      held({ row: 34, fault: `TLS, ${fault}`, injected: waiting }, await bed.settle(agent));
    },
  );
});

describe("the gateway at a broker that checks its clients", () => {
  it("sends its client certificate, and warns if the certificate expires within a month (fault matrix row 39)", async () => {
    const folder = temporaryFolder();
    const clients = testAuthority(folder, "clients");
    const { options } = await rig({
      listeners: (authority) => [{ ...goodTls(authority), clients_of: clients.ca_file }],
    });
    // The bed's clock is in March 2026, but the certificates are valid from the present day.
    const start = Date.now() - 3_600_000;
    const shown = clients.issue("gateway", { days: 20 });
    const bed = await deliveryBed({
      ...options,
      site: { start },
      link: { ...options.link, client_certificate: () => readCertificatePair(shown.cert, shown.key) },
    });
    const agent = await active(bed);
    const [own] = bed.certificates();
    expect(own).toMatchObject({ link: "service", server: null });
    expect((own?.expires ?? 0) - start).toBeLessThan(21 * DAY_MS);
    expect(bed.said.filter((line) => line.includes("the gateway's client certificate expires on"))).toHaveLength(1);
    held({ row: 39, fault: "client certificate about to end", injected: 1 }, await bed.settle(agent));
  });

  it("gives advice to set client_certificate_file if the broker requires a client certificate and none is configured", async () => {
    const { options } = await rig({
      listeners: (authority) => [{ ...goodTls(authority), clients_of: authority.ca_file }],
    });
    const bed = await deliveryBed(options);
    const agent = await bed.start();
    await bed.until("the state is told", () => /client_certificate_file/.test(reasonOf(agent)));
  });

  it("reports a rejected password and forbidden topics with different reasons, and delivers once the broker accepts both", async () => {
    const { options, broker } = await rig({ listeners: (authority) => [goodTls(authority)] });
    const doors = { open: false };
    const bed = await deliveryBed({
      ...options,
      connecting: (account) => (doors.open ? (options.connecting?.(account) ?? Promise.resolve()) : Promise.resolve()),
    });
    const agent = await bed.start();
    await bed.until("the key is refused", () => /rejects this gateway's key/.test(reasonOf(agent)));
    doors.open = true;
    broker.allowTopics(false);
    await bed.until("the topics are refused", () => /denies this gateway its own topics/.test(reasonOf(agent)));
    broker.allowTopics(true);
    await bed.until("the booth is active", () => agent.status().booths[0]?.provisioning.state === "active");
    held({ row: 28, fault: "broker refuses password, then topics", injected: 2 }, await bed.settle(agent));
  });

  it("sends readings over WebSocket if the MQTT port is closed", async () => {
    const closed = await freePort();
    const { options, broker } = await rig({
      listeners: (authority) => [{ ...goodTls(authority), websockets: true }],
      url: () => `mqtts://127.0.0.1:${closed}`,
    });
    const ws_url = `wss://127.0.0.1:${broker.ports[0] ?? 0}/mqtt`;
    const bed = await deliveryBed({ ...options, ws_url: () => ws_url });
    const agent = await active(bed);
    expect(bed.site.lines.some((line) => line.includes(`service link is up at ${ws_url}`))).toBe(true);
    await bed.pass(MINUTE_MS);
    held({ row: 35, fault: "port 8883 closed, WebSocket instead", injected: 1 }, await bed.settle(agent));
  });
});
