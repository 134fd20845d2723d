import type { Agent } from "../../src/runtime/agent.ts";
import { createHttpClient } from "../../src/delivery/http/client.ts";
import { boothOf, START } from "../support/active-site.ts";
import { compare, deliveryBed, type Delivered, type DeliveryBed, type DeliveryBedOptions } from "./delivery-bed.ts";
import { eventually } from "../support/eventually.ts";

export const ROUTE = "/api/booths_provisioning";
export const RECORD = `${ROUTE}/:serial_number`;
/** The timeout of a request, in real time. */
export const TOTAL_MS = 400;
/** Virtual time per step while the sockets are idle. */
const STEP_MS = 500;

export interface HttpBed extends Pick<DeliveryBed, "site" | "service" | "folder"> {
  /** Number of requests so far, and of the failed ones. */
  readonly asked: { all: number; failed: number };
  readonly agent: Agent;
}

/** Starts a delivery bed with a booth without a serial number. Virtual time runs only while the test waits. */
export async function httpBed({ plain = false }: Pick<DeliveryBedOptions, "plain"> = {}): Promise<HttpBed> {
  const asked = { all: 0, failed: 0 };
  const bed = await deliveryBed({
    plain,
    site: { scenario: "standard-cycle", start: START, unnamed: true },
    http: (baseUrl) => {
      const client = createHttpClient({ baseUrl, total_timeout_ms: TOTAL_MS });
      const send: typeof client.send = async (request) => {
        asked.all += 1;
        asked.failed += 1;
        const answer = await client.send(request);
        if (answer.status < 400) asked.failed -= 1;
        return answer;
      };
      return { ...client, send };
    },
  });
  return { ...bed, asked, agent: await bed.start() };
}

/** Runs virtual time until the booth is active. */
export const untilActive = ({ site, agent }: HttpBed): Promise<void> =>
  eventually("the booth is active", async () => {
    await site.clock.run(STEP_MS);
    return boothOf(agent).provisioning.state === "active" ? true : undefined;
  }).then(() => undefined);

/** Waits until every record is acked, stops the agent, and compares the service's records with the gateway's. */
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
