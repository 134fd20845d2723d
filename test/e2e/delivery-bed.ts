import type { Text } from "../../src/domain/message.ts";
import { render } from "../../src/domain/messages/render.ts";
import { setTimeout as delay } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { contentLine, canonical } from "../../simulators/service/ingest/canonical.ts";
import { storedRange } from "../../simulators/service/ingest/records.ts";
import { findStream } from "../../simulators/service/ingest/streams.ts";
import { seedSite } from "../../simulators/service/accounts/seed.ts";
import { startService, type RunningService } from "../../simulators/service/start.ts";
import type { Agent } from "../../src/runtime/agent.ts";
import { createHttpClient, type HttpClient } from "../../src/delivery/http/client.ts";
import type { MqttSetup } from "../../src/delivery/mqtt/connect.ts";
import { createMqttLink, type MqttLink } from "../../src/delivery/mqtt/link.ts";
import type { LinkAccount, LinkSession } from "../../src/delivery/port.ts";
import type { Placed } from "../../src/domain/record.ts";
import { silentLog } from "../support/silent-log.ts";
import { ownRecords } from "../support/store.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { PROVISION_KEY, SERIAL } from "../support/virtual-service.ts";
import { virtualSite, type VirtualSite, type VirtualSiteOptions } from "../support/virtual-site.ts";

/** Monday 2026-03-02 08:00 in Denver. */
export const BED_START = Date.UTC(2026, 2, 2, 15);
/** Virtual time that passes at a step, in which sockets speak as fast as they do: while something is waited for, and else. */
const STEP_MS = 250;
const PASS_MS = 1_000;
/** Real time; far longer than anything here takes. */
const WITHIN_MS = 90_000;

export interface DeliveryBedOptions {
  /** A broker that is there already; default: the service's own. */
  readonly broker?: { readonly url: string; readonly password: string };
  /** Where the service sends gateways to; default: its own broker. */
  readonly url?: () => string;
  readonly ws_url?: () => string;
  readonly link?: Partial<MqttSetup>;
  readonly site?: Partial<VirtualSiteOptions>;
  /** The service knows nothing of gateways. */
  readonly plain?: boolean;
  /** Instead of the agent's own client at that URL. */
  readonly http?: (baseUrl: string) => HttpClient;
  /** Before each connect. */
  readonly connecting?: (account: LinkAccount) => Promise<void>;
  /** Before each batch. */
  readonly sending?: (batch: { readonly stream: string; readonly records: readonly Placed[] }) => void;
}

/** The comparison of what the service stored with what the box recorded. */
export interface Delivered {
  readonly records: number;
  readonly lost: number;
  readonly doubled: number;
  /** Other content than was recorded. */
  readonly wrong: number;
  /** Seqs that the service refuses and the box keeps. */
  readonly refused: readonly number[];
}

/** The agent under virtual time, with the real link, over real sockets to a real broker and the reference service. */
export interface DeliveryBed {
  readonly site: VirtualSite;
  readonly service: RunningService;
  readonly folder: string;
  readonly connects: () => number;
  /** Warnings of the link itself. */
  readonly said: readonly string[];
  readonly certificates: () => ReturnType<MqttLink["certificates"]>;
  start(): Promise<Agent>;
  /** Lets virtual time pass until the condition holds. */
  until(what: string, condition: () => boolean): Promise<void>;
  /** So much virtual time passes. */
  pass(ms: number): Promise<void>;
  /** Waits until the service has every record except those that it refuses, then compares. */
  settle(agent: Agent): Promise<Delivered>;
}

export async function deliveryBed(options: DeliveryBedOptions = {}): Promise<DeliveryBed> {
  const folder = temporaryFolder();
  const said: string[] = [];
  const log = { ...silentLog, warn: (_: unknown, text: Text) => void said.push(render(text)) };
  const made: { link: MqttLink | null; http: string; connects: number } = { link: null, http: "", connects: 0 };
  const site = virtualSite({
    folder,
    scenario: "busy-day",
    start: BED_START,
    ...options.site,
    way: (clock, service_time) => {
      const http = options.http?.(made.http) ?? createHttpClient({ baseUrl: made.http });
      onTestFinished(() => http.close());
      const link = createMqttLink({ clock, service_time, agentVersion: "0.0.0", log, ...options.link });
      made.link = link;
      return { http, link: { connect: (account, signal) => connectThrough({ link, options, made }, account, signal) } };
    },
  });
  onTestFinished(() => site.close());
  const { broker, plain = false } = options;
  const service = await startService({
    dataDir: ":memory:",
    port: 0,
    mqttPort: 0,
    clock: site.clock,
    plain,
    ...(broker === undefined ? {} : { broker: { urls: [broker.url], password: broker.password } }),
  });
  onTestFinished(() => service.stop());
  seedSite(service.db, { serial: SERIAL, tz: "America/Denver", provisionKey: PROVISION_KEY, now: site.clock.wall() });
  made.http = service.url;
  if (options.url !== undefined) Object.assign(service.service, { mqttUrl: options.url });
  if (options.ws_url !== undefined) Object.assign(service.service, { mqttWsUrl: options.ws_url });
  const step = async (ms = STEP_MS): Promise<void> => {
    await site.clock.run(ms);
    await delay(1);
  };
  const until = async (what: string, condition: () => boolean): Promise<void> => {
    const deadline = performance.now() + WITHIN_MS;
    while (!condition()) {
      if (performance.now() > deadline) throw new Error(`not in time: ${what}; ${site.lines.slice(-8).join(" | ")}`);
      await step();
    }
  };
  return {
    site,
    service,
    folder,
    connects: () => made.connects,
    said,
    certificates: () => made.link?.certificates() ?? [],
    start: () => site.start(),
    until,
    async pass(ms) {
      for (let passed = 0; passed < ms; passed += PASS_MS) await step(PASS_MS);
    },
    async settle(agent) {
      const log = () => agent.status().booths[0]?.log;
      const held = (): number =>
        service
          .oracle()
          .flatMap(({ ranges }) => ranges.map(([from, to]) => to - from + 1))
          .reduce((a, b) => a + b, 0);
      site.plc.fault = "refused";
      let refused = 0;
      const isDone = (): boolean => {
        const now = log();
        if (now === undefined || now.pending > 0) return false;
        refused = now.refused.count;
        return held() + refused === now.newest_seq && (refused > 0 || now.acked_seq === now.newest_seq);
      };
      await until("the service has all but what it refuses", isDone);
      site.kill();
      return compare(folder, service, refused);
    },
  };
}

interface Connecting {
  readonly link: MqttLink;
  readonly options: DeliveryBedOptions;
  readonly made: { connects: number };
}

async function connectThrough(
  { link, options, made }: Connecting,
  account: LinkAccount,
  signal: AbortSignal,
): Promise<LinkSession> {
  made.connects += 1;
  await options.connecting?.(account);
  const session = await link.connect(account, signal);
  return {
    ...session,
    send: (stream, generation, records) => {
      options.sending?.({ stream, records });
      return session.send(stream, generation, records);
    },
  };
}

/** Each record as the service tells content apart, by seq. */
export function contentLines(records: readonly Placed[]): Map<number, string> {
  return new Map(
    records.map(({ seq, value, ...rest }) => {
      const plain: unknown = JSON.parse(JSON.stringify(value));
      return [seq, contentLine({ ...rest, value: canonical(plain) })];
    }),
  );
}

/** Compares what the service stored with what a stopped box recorded in that folder. `refusals`: records that the service refuses. */
export function compare(folder: string, service: RunningService, refusals = 0): Delivered {
  const own = ownRecords(folder);
  const records = contentLines(own.records);
  const seen = new Map<number, number>();
  let wrong = 0;
  for (const { stream_id } of service.oracle()) {
    const stream = findStream(service.db, stream_id);
    for (const stored of stream === undefined ? [] : storedRange(service.db, stream, [1, own.newest_seq])) {
      seen.set(stored.seq, (seen.get(stored.seq) ?? 0) + 1);
      if (records.get(stored.seq) !== contentLine(stored)) wrong += 1;
    }
  }
  const missing = [...records.keys()].filter((seq) => !seen.has(seq));
  const doubled = [...seen.values()].filter((times) => times > 1).length;
  return { records: records.size, lost: missing.length - refusals, doubled, wrong, refused: missing };
}
