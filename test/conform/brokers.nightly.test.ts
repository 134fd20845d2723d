// Needs Debian packages: mosquitto, nats-server, rabbitmq-server. Some 40 s each.
import { expect, it } from "vitest";
import { brokerText, measureBroker } from "../../simulators/conform/broker.ts";
import { smallBroker } from "../fleet/small-site.ts";
import { temporaryFolder } from "../support/temporary.ts";
import type { BrokerProcess } from "../system/broker-outages.ts";
import { nats } from "../system/nats.ts";
import { rabbitmq } from "../system/rabbitmq.ts";

interface BrokerRow {
  readonly name: string;
  readonly make: (folder: string) => Promise<Pick<BrokerProcess, "service" | "kill" | "start">>;
}

it.each<BrokerRow>([
  { name: "mosquitto 2.0", make: smallBroker },
  { name: "NATS 2.9", make: nats },
  { name: "RabbitMQ 3.10", make: (folder) => rabbitmq(folder, { isOpenDoor: true }) },
])(
  "$name loses no confirmed message while the sender or a receiver with a kept session reconnects",
  async ({ name, make }) => {
    const broker = await make(temporaryFolder());
    const url = new URL(broker.service.url);
    url.password = broker.service.password;
    const report = await measureBroker({
      url: url.href,
      told: () => undefined,
      async restart() {
        await broker.kill();
        await broker.start();
      },
    });
    process.stdout.write(`${name}\n${brokerText(report)}\n`);
    const lost = Object.fromEntries(report.phases.map((phase) => [phase.name, phase.lost]));
    expect(report.phases.every(({ confirmed }) => confirmed === 1_000)).toBe(true);
    expect(lost).toMatchObject({ undisturbed: 0, "sender reconnects": 0, "receiver reconnects, kept session": 0 });
  },
);
