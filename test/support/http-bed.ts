import { onTestFinished } from "vitest";
import type { Agent } from "../../src/runtime/agent.ts";
import { createHttpClient } from "../../src/delivery/http/client.ts";
import { createMqttLink } from "../../src/delivery/mqtt/link.ts";
import { seedSite } from "../../simulators/service/seed.ts";
import { startService, type RunningService } from "../../simulators/service/start.ts";
import { boothOf, START } from "./active-site.ts";
import { compare, type Delivered } from "./delivery-bed.ts";
import { eventually } from "./eventually.ts";
import { silentLog } from "./silent-log.ts";
import { temporaryFolder } from "./temporary.ts";
import { PROVISION_KEY, SERIAL } from "./virtual-service.ts";
import { virtualSite, type VirtualSite } from "./virtual-site.ts";

export const ROUTE = "/api/booths_provisioning";
export const RECORD = `${ROUTE}/:serial_number`;
/** Real time: the longest that a request may take here. */
export const TOTAL_MS = 400;
/** Virtual time that passes while nothing happens on the sockets. */
const STEP_MS = 500;

export interface HttpBed {
  readonly site: VirtualSite;
  readonly service: RunningService;
  /** Requests made so far, by what came of them. */
  readonly asked: { all: number; failed: number };
  readonly agent: Agent;
  readonly folder: string;
}

/** Agent and service over real sockets; time passes only while the test waits. `plain`: the service knows nothing of gateways. */
export async function httpBed({ plain = false }: { readonly plain?: boolean } = {}): Promise<HttpBed> {
  const [folder, gate] = [temporaryFolder(), { http: "" }];
  const asked = { all: 0, failed: 0 };
  const site = virtualSite({
    folder,
    scenario: "standard-cycle",
    start: START,
    unnamed: true,
    way: (clock, service_time) => {
      const client = createHttpClient({ baseUrl: gate.http, total_timeout_ms: TOTAL_MS });
      onTestFinished(() => client.close());
      const send: typeof client.send = async (request) => {
        asked.all += 1;
        asked.failed += 1;
        const answer = await client.send(request);
        if (answer.status < 400) asked.failed -= 1;
        return answer;
      };
      const http = { ...client, send };
      return { http, link: createMqttLink({ clock, service_time, log: silentLog, agentVersion: "0.0.0" }) };
    },
  });
  onTestFinished(() => site.close());
  const service = await startService({ dataDir: ":memory:", port: 0, mqttPort: 0, clock: site.clock, plain });
  onTestFinished(() => service.stop());
  seedSite(service.db, { serial: SERIAL, tz: "America/Denver", provisionKey: PROVISION_KEY, now: START });
  gate.http = service.url;
  const agent = await site.start();
  return { site, service, asked, agent, folder };
}

/** Lets time pass until the booth is active. */
export const untilActive = ({ site, agent }: HttpBed): Promise<void> =>
  eventually("the booth is active", async () => {
    await site.clock.run(STEP_MS);
    return boothOf(agent).provisioning.state === "active" ? true : undefined;
  }).then(() => undefined);

/** Waits until everything that was recorded is acked, ends the agent, and holds what the service stored against it. */
export async function delivered({ site, service, agent, folder }: HttpBed): Promise<Delivered> {
  site.plc.fault = "refused";
  await eventually("everything is acked, and the service's stream has no hole", async () => {
    await site.clock.run(STEP_MS);
    const { acked_seq, newest_seq, pending } = boothOf(agent).log;
    const isDone = acked_seq === newest_seq && pending === 0 && service.oracle().at(-1)?.acked_seq === newest_seq;
    return isDone ? true : undefined;
  });
  site.kill();
  return compare(folder, service);
}
