import type { Text } from "../../src/domain/message.ts";
import { render } from "../../src/domain/messages/render.ts";
import { randomUUID } from "node:crypto";
import { createHttpClient } from "../../src/delivery/http/client.ts";
import { createServiceApi } from "../../src/delivery/http/service-api.ts";
import type { Clock } from "../../src/domain/machine.ts";
import type { ServiceRecord } from "../../src/domain/service.ts";
import { NO_SERVICE_TIME, seededRandom, type VirtualGateway } from "./gateway.ts";

/** Maximum number of simultaneous claims: ten times those of a handful of technicians with their retries. */
const AT_ONCE = 32;
/** Maximum number of attempts. A restarted service is back within that time. */
const TRIES = 60;
const AGAIN_MS = 1_000;

export interface Claiming {
  readonly clock: Clock;
  readonly seed: number;
  readonly url: string;
  /** A key of scope admin, which may take over a booth whose gateway was seen a moment ago. */
  readonly key: string;
  /** Certificate of the authority of the service's and the brokers' certificates, PEM. */
  readonly ca?: string | undefined;
  /** Ends the claims. */
  readonly signal: AbortSignal;
}

/**
 * Binds each gateway's booths at the service over HTTP with the agent's own client. Rejects if the service refuses a
 * claim.
 */
export async function claimAll(
  claiming: Claiming,
  gateways: readonly VirtualGateway[],
  how: { readonly takeOver?: boolean; readonly done?: (count: number) => void } = {},
): Promise<void> {
  const { ca } = claiming;
  const http = createHttpClient({ baseUrl: claiming.url, ...(ca === undefined ? {} : { ca }) });
  const sealer = { seal: () => ({ sealed: "", mark: "" }), open: () => null };
  const own = { agentVersion: "0.0.0-fleet", hardwareId: "virtual" };
  const random = seededRandom(claiming.seed);
  const { clock } = claiming;
  const api = createServiceApi({ http, clock, random, service_time: NO_SERVICE_TIME, sealer, ...own });
  const waiting = gateways.flatMap((gateway) => gateway.booths.map((booth) => ({ gateway, booth })));
  let done = 0;
  const claimNext = async (): Promise<void> => {
    for (let next = waiting.pop(); next !== undefined && !claiming.signal.aborted; next = waiting.pop()) {
      const { gateway, booth } = next;
      const record = await claimed({ ...claiming, api }, gateway, {
        serial: booth.serial,
        stream: booth.stream,
        takeOver: how.takeOver ?? false,
      });
      await useCredential(api, gateway, booth.serial);
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

/** Uses a gateway's credential over HTTP, as the agent does after its claim, so that the brokers learn of it. */
async function useCredential(
  api: ReturnType<typeof createServiceApi>,
  { credential }: VirtualGateway,
  serial: string,
): Promise<void> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    if (tries > 0) await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    const answer = await api.lookUp(credential, serial);
    if (answer.kind === "ok") return;
    if (answer.kind !== "keep") throw new Error(`the credential for booth ${serial} is refused: ${answer.kind}`);
  }
  throw new Error(`the service doesn't answer to the credential for booth ${serial}`);
}
