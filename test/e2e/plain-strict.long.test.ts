import { expect, it } from "vitest";
import { rows } from "../../simulators/service/storage/db.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { PROVISION_KEY, SERIAL } from "../support/virtual-service.ts";
import { virtualSite, type VirtualSite } from "../support/virtual-site.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

/** Mon 2026-03-02 07:50 in Denver. */
const START = Date.UTC(2026, 2, 2, 14, 50);
const ROUTE = "/api/booths_provisioning";

interface Strict {
  readonly site: VirtualSite;
  /** The requests that change something at the service, in order. */
  readonly writes: readonly string[];
}

/** A site whose service rejects a second POST and fields that the interface document does not have. */
function strictSite(): Strict {
  const site = virtualSite({
    folder: temporaryFolder(),
    scenario: "busy-day",
    start: START,
    facility: { plain: "strict" },
  });
  const writes: string[] = [];
  site.service.way.passing = (what, { method, path }) => {
    if (what === "request" && method !== "GET") writes.push(`${method} ${path}`);
    return Promise.resolve();
  };
  return { site, writes };
}

/** Creates the booth's record as another client would. */
async function made(site: VirtualSite, status: "IN PROGRESS" | "COMPLETE"): Promise<void> {
  const key = PROVISION_KEY;
  await Promise.all([
    site.service.http.send({ method: "POST", path: ROUTE, key, body: { serial_number: SERIAL } }),
    site.clock.run(MINUTE_MS),
  ]);
  const body = { completion_status: status };
  await Promise.all([
    site.service.http.send({ method: "PUT", path: `${ROUTE}/${SERIAL}`, key, body }),
    site.clock.run(MINUTE_MS),
  ]);
}

async function active({ site }: Strict): Promise<void> {
  const agent = await site.start();
  await site.clock.runUntil(() => agent.status().booths[0]?.provisioning.state === "active", 10 * MINUTE_MS);
}

function ended({ site }: Strict): void {
  expect(rows(site.service.db, "SELECT gateway_id, completion_status FROM provisionings")).toEqual([
    { gateway_id: null, completion_status: "COMPLETE" },
  ]);
  expect(site.lines.filter((line) => line.startsWith("FAILED"))).toEqual([]);
  site.close();
}

it.each([
  ["COMPLETE", []],
  ["IN PROGRESS", [`PUT ${ROUTE}/${SERIAL}`]],
] as const)(
  "a booth whose provisioning record at a strict service is already %s is bound with only the writes %j",
  async (status, writes) => {
    const strict = strictSite();
    await made(strict.site, status);
    const before = strict.writes.length;
    await active(strict);
    expect(strict.writes.slice(before)).toEqual(writes);
    ended(strict);
  },
);

it("an active booth whose serial number is entered again becomes active again without a second POST", async () => {
  const strict = strictSite();
  const { site, writes } = strict;
  const agent = await site.start();
  const state = (): string | undefined => agent.status().booths[0]?.provisioning.state;
  await site.clock.runUntil(() => state() === "active", 10 * MINUTE_MS);
  expect(writes).toEqual([`POST ${ROUTE}`, `PUT ${ROUTE}/${SERIAL}`]);
  await agent.enterSerial("booth-1", SERIAL, { by: "alex", note: "" });
  await site.clock.runUntil(() => state() === "active", 10 * MINUTE_MS);
  expect(writes).toHaveLength(2);
  ended(strict);
});

it("a booth whose answer to the POST is lost is bound because the gateway finds and completes the record", async () => {
  const strict = strictSite();
  const { site } = strict;
  const lost = { posts: 0 };
  site.service.way.passing = (what, { method }) => {
    if (method !== "POST" || what === "request" || lost.posts > 0) return Promise.resolve();
    lost.posts += 1;
    return Promise.reject(new Error("the connection is gone"));
  };
  await active(strict);
  expect(lost.posts).toBe(1);
  ended(strict);
});
