import type { Window } from "../../src/store/port.ts";
import { ingestBatch, ingestChunk } from "../../simulators/service/ingest/store.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { type VirtualSite } from "../support/virtual-site.ts";
import { questions, serviceAnswers } from "./operations.ts";

/** Share of the batches that are sent a second time. */
const REPEATED = 0.3;
/** Queries of a figure in between, which test what the service caches of an incomplete log. */
const LOOKS = 3;

/**
 * Returns the final answers of a service that gets every batch of a story late, in random order, and many of them
 * twice. At the start it only knows the booth.
 */
export async function answersAfterRedelivery(site: VirtualSite, window: Window): Promise<string[]> {
  const service = site.service.forgetful();
  const random = seededRandom(site.service.came.length);
  const again = site.service.came.filter(() => random.next() < REPEATED);
  const batches = [...site.service.came, ...again]
    .map((batch) => ({ batch, order: random.next() }))
    .sort((a, b) => a.order - b.order);
  const asked = questions(window);
  const lookAt = Math.ceil(batches.length / LOOKS);
  try {
    const { gw } = site.service.came.find((batch) => !(batch instanceof Uint8Array)) as { readonly gw: string };
    for (const [index, { batch }] of batches.entries()) {
      const offer = { gatewayId: gw, nowMs: site.clock.truth() };
      const isChunk = batch instanceof Uint8Array;
      const ack = isChunk ? ingestChunk(service.db, offer, batch) : ingestBatch(service.db, offer, batch);
      const { error, conflict, reject } = ack;
      if (error !== undefined || conflict !== null || reject.length > 0)
        throw new Error(`batch ${index} was not taken: ${JSON.stringify({ error, conflict, reject })}`);
      if (index % lookAt === lookAt - 1) await serviceAnswers(service, asked.slice(0, 1));
    }
    return await serviceAnswers(service, asked);
  } finally {
    service.close();
  }
}
