import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

import { createSignals } from "../../src/domain/signal.ts";
import { newDelivery, type DeliveredBooth } from "../../src/delivery/context.ts";
import { emptyRow } from "../../src/domain/provisioning.ts";
import { runSender } from "../../src/delivery/sender.ts";
import { createServiceTime } from "../../src/acquisition/clock.ts";
import { createMqttLink } from "../../src/delivery/mqtt/link.ts";
import { cutBatches } from "../../src/delivery/rules/sending.ts";
import type { Placed } from "../../src/domain/record.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import type { LinkAccount } from "../../src/delivery/port.ts";
import type { LogReach } from "../../src/domain/booth-state.ts";
import { inlineStore } from "../../simulators/virtual/store.ts";
import type { Writer } from "../../src/store/thread/writer.ts";
import { batchOf } from "../../src/contract/telemetry.ts";
import { prepareService } from "../simulators/service/service-kills.ts";
import { silentLog } from "../support/silent-log.ts";
import { writerIn } from "../support/store.ts";
import { slowLine } from "./slow-line.ts";
import { fillStore, STREAM } from "../support/filled-store.ts";
import { temporaryFolder } from "../support/temporary.ts";
import {
  type BenchOptions,
  type Family,
  type Figure,
  figureOf,
  interleaved,
  limitedFigure,
  median,
  withCleanUp,
} from "./figure.ts";

/**
 * Delivers a waiting log with facts among its readings, as the store holds it, over MQTT to the reference service in
 * another process. The measured CPU is this process's alone, without folds and polls.
 */

const CHILD = new URL("../simulators/service/service-child.ts", import.meta.url);
type Length = "guard" | "quick" | "full";
const READINGS = { guard: 200_000, quick: 200_000, full: 2_000_000 };
/** Rough number of changes a day of the store family's booth. */
const READINGS_PER_DAY = 86_400 * 5.9;
const GATEWAY = "gw-1";
/** The log's at the service. */
const NAME = "stream-1";
const READ_LIMIT = 5_000;
/** The log is sent so often; the medians count. */
const ROUNDS = { guard: 7, quick: 1, full: 3 };
/** Number of deliveries: a stall of the machine for half a second is 3 % of one of them. */
const LINES = { guard: 0, quick: 1, full: 3 };

/** 13 million readings, thirty days of a busy booth, in 4 s of CPU, and in 17 MB. */
const TARGET_PER_CPU_S = 3_000_000;
const TARGET_RATIO = 2.7;
const TARGET_BYTES = 1.3;
const TARGET_PERCENT = 95;
/** 1 Mbit/s up, 100 ms there and back. */
const UPLINK = { bytes_per_s: 125_000, delay_ms: 50 };

function cpuSeconds(since?: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1e6;
}

/** The least work of this wire format: records in memory as columns of text, zipped. */
function anchorPerCpuSecond(records: readonly Placed[]): number {
  const head = { gateway_id: GATEWAY, generation: 1, stream: STREAM };
  const before = process.cpuUsage();
  for (const batch of cutBatches(records)) gzipSync(JSON.stringify(batchOf(head, batch, 0)));
  return records.length / cpuSeconds(before);
}

function someRecords(writer: Writer, count: number): Placed[] {
  const records: Placed[] = [];
  while (records.length < count) {
    const more = writer.read(STREAM, (records.at(-1)?.seq ?? 0) + 1, READ_LIMIT);
    if (more.length === 0) break;
    records.push(...more);
  }
  return records;
}

const notNow = (): Promise<void> => Promise.reject(new Error("the service holds other records"));

interface Drained {
  readonly records: number;
  readonly cpu_s: number;
  readonly elapsed_s: number;
}

async function drain(writer: Writer, url: string): Promise<Drained> {
  const clock = systemClock();
  const link = createMqttLink({ clock, service_time: createServiceTime(), agentVersion: "0", log: silentLog });
  const names = { gateway_id: GATEWAY, client_id: GATEWAY, username: GATEWAY, credential: `secret of ${GATEWAY}` };
  const where = { topic_prefix: `bg/v1/${GATEWAY}`, url, ws_url: null, confirmed_by: "service" } as const;
  const account: LinkAccount = { ...names, ...where };
  const ending = new AbortController();
  const session = await link.connect(account, ending.signal);
  const log = { reach: writer.resend(STREAM, 1) as LogReach };
  const last = log.reach.newest_seq;
  const cursorMoved = (acked_seq: number): void => {
    log.reach = { ...log.reach, acked_seq };
    if (acked_seq >= last) ending.abort(new Error("drained"));
  };
  const before = process.cpuUsage();
  const begun = performance.now();
  await runSender(
    {
      session,
      proven: () => undefined,
      gateway: { clock, store: inlineStore(writer), log: silentLog, backlog_rate: null, rename: notNow },
      booth: {
        delivery: newDelivery({ count: 0, newest: null }),
        state: {
          booth: "booth-1",
          address: "",
          ...createSignals(clock),
          delivery: { in_session: true },
          link: { plc: { kind: "up", since: 0 }, answered: 0, shows_serial: null },
          binding: {
            row: { ...emptyRow(0), generation: 1, stream: { id: NAME, from_seq: 1, predecessor: null } },
            drift: "",
            lookAgain: () => undefined,
          },
          log: Object.assign(log, { cursorMoved }) as DeliveredBooth["state"]["log"],
        },
      },
    },
    ending.signal,
  ).catch((error: unknown) => {
    if (!ending.signal.aborted) throw error;
  });
  const cpu_s = cpuSeconds(before);
  const elapsed_s = (performance.now() - begun) / 1_000;
  await session.close();
  return { records: last, cpu_s, elapsed_s };
}

/** The same log once more, over a site's uplink: bytes that went up for each record, and how much of what the line can carry went into it, percent. */
async function overTheLine(writer: Writer, mqttUrl: string): Promise<OnTheLine> {
  const line = await slowLine(Number(new URL(mqttUrl).port), UPLINK);
  try {
    const { elapsed_s, records } = await drain(writer, `mqtt://127.0.0.1:${line.port}`);
    const passed = line.passed();
    return { bytes_each: passed / records, line_percent: (passed / elapsed_s / UPLINK.bytes_per_s) * 100 };
  } finally {
    line.close();
  }
}

interface OnTheLine {
  readonly bytes_each: number;
  readonly line_percent: number;
}

/** Returns the CPU figure, then those of the line. */
export async function drainFigures(length: Length): Promise<readonly [cpu: Figure, ...line: Figure[]]> {
  const readings = READINGS[length];
  return withCleanUp(async (atEnd) => {
    const folder = temporaryFolder(undefined, atEnd);
    const serviceDir = join(folder, "service");
    prepareService(serviceDir);
    fillStore(join(folder, "gateway"), readings / READINGS_PER_DAY, { has_facts: true });
    const child = fork(CHILD, [serviceDir], { stdio: ["ignore", "ignore", "inherit", "ipc"] });
    atEnd(() => child.kill("SIGKILL"));
    child.send("open");
    const [{ mqttUrl }] = (await once(child, "message")) as [{ mqttUrl: string }];
    const writer = writerIn(join(folder, "gateway"));
    atEnd(() => writer.close());
    writer.openStream("booth-1");
    const some = someRecords(writer, readings / 10);
    const { anchor = NaN, value = NaN } = await interleaved(ROUNDS[length], {
      anchor: () => anchorPerCpuSecond(some),
      value: async () => {
        const { records, cpu_s } = await drain(writer, mqttUrl);
        return records / cpu_s;
      },
    });
    const lines: OnTheLine[] = [];
    while (lines.length < LINES[length]) lines.push(await overTheLine(writer, mqttUrl));
    const of = (figure: keyof OnTheLine): number => median(lines.map((line) => line[figure]));
    const line_percent = of("line_percent");
    return [
      figureOf({
        name: "drain.readings_per_cpu_s",
        value,
        unit: "readings/s",
        anchor,
        target: `>= ${TARGET_PER_CPU_S}, or ${TARGET_RATIO} x`,
        note: "anchor: columns, JSON and gzip alone",
        reached: value >= TARGET_PER_CPU_S || value / anchor >= TARGET_RATIO,
      }),
      limitedFigure({ name: "drain.bytes_per_reading", value: of("bytes_each"), unit: "bytes" }, TARGET_BYTES),
      figureOf({
        name: "drain.line_percent",
        value: line_percent,
        unit: "%",
        target: `>= ${TARGET_PERCENT} %`,
        note: "of a line with 1 Mbit/s and a round trip of 100 ms",
        reached: line_percent >= TARGET_PERCENT,
      }),
    ];
  });
}

export const drainFamily: Family = {
  name: "drain",
  run: ({ quick }: BenchOptions) => drainFigures(quick ? "quick" : "full"),
};
