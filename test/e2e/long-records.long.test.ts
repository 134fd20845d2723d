import { expect, it } from "vitest";
import { rows } from "../../simulators/service/storage/db.ts";
import type { LinkSession, ServiceLink } from "../../src/delivery/port.ts";
import { KIND, type Placed } from "../../src/domain/record.ts";
import { activeSite, boothOf, MINUTE } from "../support/active-site.ts";
import type { VirtualSite } from "../support/virtual-site.ts";

/** A broker that accepts only short messages. */
interface ShortBroker {
  most_records: number;
  /** Checks whether that record alone is longer than the broker's limit. */
  isTooLong: (record: Placed) => boolean;
  /** Number of non-empty batches within the limit that were sent. */
  sent: number;
}

const TOO_LONG = { kind: "too_long", reason: "the message has 900 bytes, and the broker takes 300" } as const;

function limited(link: ServiceLink, broker: ShortBroker): ServiceLink {
  const limit = (session: LinkSession): LinkSession => ({
    ...session,
    send(stream, generation, records) {
      if (records.length > broker.most_records || records.some(broker.isTooLong)) return Promise.resolve(TOO_LONG);
      broker.sent += records.length;
      return session.send(stream, generation, records);
    },
    sendChunk: () => Promise.resolve(TOO_LONG),
  });
  return { connect: async (...asked) => limit(await link.connect(...asked)) };
}

function held({ service }: VirtualSite): readonly number[] {
  return rows<{ seq: number }>(service.db, "SELECT seq FROM records ORDER BY seq").map(({ seq }) => seq);
}

function missing(site: VirtualSite, newest_seq: number): readonly number[] {
  const has = new Set(held(site));
  return Array.from({ length: newest_seq }, (_, index) => index + 1).filter((seq) => !has.has(seq));
}

it("a record too long for the broker waits, is delivered once the limit is raised, and delays no other record", async () => {
  const broker: ShortBroker = { most_records: 7, isTooLong: ({ kind }) => kind === KIND.parameters, sent: 0 };
  const { site, agent } = await activeSite({
    for_ms: 3 * MINUTE,
    given: (parts) => ({ ...parts, link: limited(parts.link, broker) }),
  });
  const { log } = boothOf(agent);
  const lacking = missing(site, log.newest_seq - 20);
  expect(log.too_long?.count).toBe(lacking.length);
  expect(log.too_long?.newest).toEqual({ seq: lacking.at(-1), reason: TOO_LONG.reason });
  expect(lacking.length).toBeGreaterThan(0);
  expect(log.acked_seq).toBe((lacking[0] ?? 0) - 1);
  expect(log.refused).toEqual({ count: 0, newest: null });
  // A new session doesn't resend records after the waiting record that the service has acked.
  const before = broker.sent;
  site.service.way.down = true;
  await site.clock.run(MINUTE);
  site.service.way.down = false;
  await site.clock.runUntil(() => agent.status().service.kind === "up", 5 * MINUTE);
  await site.clock.run(MINUTE);
  expect(broker.sent - before).toBeLessThan(log.newest_seq / 2);
  broker.isTooLong = () => false;
  await site.clock.run(7 * MINUTE);
  const after = boothOf(agent).log;
  expect(after.too_long).toBeNull();
  expect(after.acked_seq).toBeGreaterThan(log.newest_seq);
  expect(missing(site, after.acked_seq)).toEqual([]);
});
