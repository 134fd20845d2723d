import { rangeHash } from "../../simulators/service/ingest/canonical.ts";
import { storedRange } from "../../simulators/service/ingest/records.ts";
import { findStream } from "../../simulators/service/ingest/streams.ts";
import { hashOf } from "../../src/contract/hash.ts";
import { eventually } from "./eventually.ts";
import { ownRecords } from "./store.ts";
import type { RealSite } from "./real-site.ts";

const ROUNDS = 5;
const WITHIN_MS = 60_000;

/** Starts and stops the agent until the service has all its records. The agent must not read anything new meanwhile. */
export async function drain(site: RealSite): Promise<ReturnType<typeof ownRecords>> {
  for (let round = 0; round < ROUNDS; round += 1) {
    const agent = site.startAgent();
    const look = async (): Promise<true | undefined> => {
      const booth = (await site.status())?.booths[0];
      const isDone = booth !== undefined && booth.log.pending === 0 && booth.log.acked_seq === booth.log.newest_seq;
      return isDone && booth.provisioning.state === "active" ? true : undefined;
    };
    await eventually("everything is acked", look, WITHIN_MS);
    agent.signal("SIGTERM");
    const code = await agent.ended;
    if (code !== 0) throw new Error(`the agent ended with ${code.toString()}`);
    const own = ownRecords(site.dataDir);
    if (site.service.oracle()[0]?.count === own.records.length) return own;
  }
  throw new Error("the service never held all that the agent held");
}

/** Compares the service's records of the stream with the gateway's by their hash. */
export function isSameAtService(site: RealSite, own: ReturnType<typeof ownRecords>): boolean {
  const row = findStream(site.service.db, own.stream);
  const stored = row === undefined ? [] : storedRange(site.service.db, row, [1, own.records.length]);
  return rangeHash(stored) === hashOf(own.records);
}
