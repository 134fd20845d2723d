import type { TcpProxy } from "../../simulators/network/tcp-proxy.ts";
import { noFaults, type Faults } from "../../simulators/network/faults.ts";
import type { Random } from "../../src/domain/machine.ts";
import { pick } from "../support/bad-values.ts";
import type { RealSite } from "../support/real-site.ts";

/** The lines between the agent and what it talks to. */
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
      // Those that stand are reset too.
      if (faults.refuse === true) line.cut();
    },
    end: () => {
      Object.assign(line.faults, noFaults());
      // A side that never hears of the other's end would wait for ever.
      if (faults.silent === true) line.cut();
    },
  };
}

/** Everything that happens again and again for years. None of it spoils a value that a checksum protects. */
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
  /** Waits so many ms; rejects when the faults are to end. */
  readonly wait: (ms: number) => Promise<void>;
  /** How often each fault began. */
  readonly counts: Map<string, number>;
  /** After each end, since a service that came back is another one. */
  readonly mended: () => void;
}

const SHORTEST_MS = 200;
const LONGEST_MS = 2_500;

/**
 * Strikes one fault after the other, with a pause of the same length between two, until `wait` rejects. A fault that
 * has started is ended.
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
