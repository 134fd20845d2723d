import type { Text } from "../../src/domain/message.ts";
import { render } from "../../src/domain/messages/render.ts";
import { randomUUID } from "node:crypto";
import { createHttpClient } from "../../src/delivery/http/client.ts";
import { createServiceApi } from "../../src/delivery/http/service-api.ts";
import type { Clock } from "../../src/domain/machine.ts";
import type { ServiceRecord } from "../../src/domain/service.ts";
import { NO_SERVICE_TIME, seededRandom, type VirtualGateway } from "./gateway.ts";

/** Claims under way at once: what a handful of technicians and their retries come to, times ten. */
const AT_ONCE = 32;
/** A service that restarts is back by then. */
const TRIES = 60;
const AGAIN_MS = 1_000;

export interface Claiming {
  readonly clock: Clock;
  readonly seed: number;
  readonly url: string;
  /** A key of scope admin, which may take over a booth from a gateway that was seen a moment ago. */
  readonly key: string;
}

/** Binds each gateway's booths at the service, over HTTP, by the agent's own client. Rejects where the service refuses one. */
export async function claimAll(
  claiming: Claiming,
  gateways: readonly VirtualGateway[],
  how: { readonly takeOver?: boolean; readonly done?: (count: number) => void } = {},
): Promise<void> {
  const http = createHttpClient({ baseUrl: claiming.url });
  const sealer = { seal: () => ({ sealed: "", mark: "" }), open: () => null };
  const own = { agentVersion: "0.0.0-fleet", hardwareId: "virtual" };
  const random = seededRandom(claiming.seed);
  const { clock } = claiming;
  const api = createServiceApi({ http, clock, random, service_time: NO_SERVICE_TIME, sealer, ...own });
  const waiting = gateways.flatMap((gateway) => gateway.booths.map((booth) => ({ gateway, booth })));
  let done = 0;
  const claimNext = async (): Promise<void> => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const { gateway, booth } = next;
      const record = await claimed({ ...claiming, api }, gateway, {
        serial: booth.serial,
        stream: booth.stream,
        takeOver: how.takeOver ?? false,
      });
      booth.bind(record);
      how.done?.((done += 1));
    }
  };
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, claimNext));
  } finally {
    http.close();
  }
}

async function claimed(
  { api, key }: Claiming & { readonly api: ReturnType<typeof createServiceApi> },
  gateway: VirtualGateway,
  { serial, stream, takeOver }: { readonly serial: string; readonly stream: string; readonly takeOver: boolean },
): Promise<ServiceRecord> {
  let reason: Text = "";
  for (let tries = 0; tries < TRIES; tries += 1) {
    if (tries > 0) await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    const before = takeOver ? await api.lookUp(key, serial) : null;
    // Without an answer the current generation is unknown.
    if (before?.kind === "keep") {
      reason = before.reason;
      continue;
    }
    const expected_generation = before?.kind === "ok" ? (before.value.generation ?? 0) : 0;
    const answer = await api.claim(key, {
      serial,
      stream,
      expected_generation,
      gateway_id: gateway.id,
      credential: gateway.credential,
      claim_id: randomUUID(),
      intent: takeOver ? "take_over" : "claim",
      is_plain: false,
      confirmed: { by: "fleet", note: "a virtual box" },
    });
    if (answer.kind === "ok") return answer.value;
    reason = "reason" in answer ? answer.reason : "the service doesn't know it";
    if (answer.kind !== "keep") break;
  }
  throw new Error(`booth ${serial} can't be claimed: ${render(reason)}`);
}
