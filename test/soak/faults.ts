import type { TcpProxy } from "../../simulators/network/tcp-proxy.ts";
import { noFaults, type Faults } from "../../simulators/network/faults.ts";
import type { Random } from "../../src/domain/machine.ts";
import { pick } from "../support/bad-values.ts";
import type { RealSite } from "../support/real-site.ts";

/** The lines between the agent and its peers. */
export interface Lines {
  readonly plc: TcpProxy;
  readonly http: TcpProxy;
  readonly mqtt: TcpProxy;
}

/** A fault with its start and its end. */
interface SoakFault {
  readonly name: string;
  readonly begin: () => unknown;
  readonly end: () => unknown;
}

function onLine(name: string, line: TcpProxy, faults: Partial<Faults>): SoakFault {
  return {
    name: `${name}: ${Object.keys(faults).join(", ")}`,
    begin: () => {
      Object.assign(line.faults, faults);
      // Open connections are reset too.
      if (faults.refuse === true) line.cut();
    },
    end: () => {
      Object.assign(line.faults, noFaults());
      // The other side of a silent connection gets no end of it and would wait forever.
      if (faults.silent === true) line.cut();
    },
  };
}

/** Faults that occur regularly over years of operation. They don't change values that a checksum protects. */
export function soakFaults(site: RealSite, { plc, http, mqtt }: Lines): readonly SoakFault[] {
  const once = (name: string, begin: () => unknown): SoakFault => ({ name, begin, end: () => undefined });
  return [
    ...[{ silent: true }, { refuse: true }, { reset: 0.2 }, { truncate: 0.2 }, { delay_ms: 150 }, { noise: 0.1 }].map(
      (faults) => onLine("PLC", plc, faults),
    ),
    ...[{ silent: true }, { refuse: true }, { delay_ms: 300 }].map((faults) => onLine("HTTP", http, faults)),
    ...[{ silent: true }, { refuse: true }, { reset: 0.2 }, { split_bytes: 3 }].map((faults) =>
      onLine("MQTT", mqtt, faults),
    ),
    once("MQTT: connection cut", () => mqtt.cut()),
    once("service: ack lost", () => site.service.faults.add({ topic: "up/batch", when: "after", lose_ack: true })),
    once("service: ack twice", () => site.service.faults.add({ topic: "up/batch", when: "after", double_ack: true })),
    once("service: 503", () => site.service.faults.add({ route: "*", status: 503, times: 3 })),
    { name: "service: away", begin: () => site.serviceDown(), end: () => site.serviceUp() },
  ];
}

export interface StrikeOptions {
  readonly faults: readonly SoakFault[];
  readonly random: Random;
  /** Waits for `ms`. Rejects when the faults must end. */
  readonly wait: (ms: number) => Promise<void>;
  /** Number of times that each fault started. */
  readonly counts: Map<string, number>;
  /** Called after each fault's end, because a service that is back has a new connection. */
  readonly mended: () => void;
}

const SHORTEST_MS = 200;
const LONGEST_MS = 2_500;

/**
 * Injects one fault after the other, with a pause of the same length after each, until `wait` rejects. A fault that has
 * started is ended.
 */
export async function strike({ faults, random, wait, counts, mended }: StrikeOptions): Promise<void> {
  for (;;) {
    const fault = pick(random, faults);
    counts.set(fault.name, (counts.get(fault.name) ?? 0) + 1);
    await fault.begin();
    try {
      await wait(SHORTEST_MS + random.next() * (LONGEST_MS - SHORTEST_MS));
    } finally {
      await fault.end();
      mended();
    }
    await wait(SHORTEST_MS + random.next() * LONGEST_MS);
  }
}
