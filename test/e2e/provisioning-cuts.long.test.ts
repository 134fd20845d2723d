import { expect, it } from "vitest";
import type { Agent } from "../../src/runtime/agent.ts";
import { rows } from "../../simulators/service/storage/db.ts";
import { recordFault } from "../support/faults.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { SERIAL } from "../support/virtual-service.ts";
import { virtualSite, type VirtualSite } from "../support/virtual-site.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

/** Mon 2026-03-02 07:50 in Denver. */
const START = Date.UTC(2026, 2, 2, 14, 50);
const BY = { by: "alex", note: "", replace: true };

const stateOf = (agent: Agent): string | undefined => agent.status().booths[0]?.provisioning.state;

/** A site whose booth is free, or still held by a gateway that broke a quarter of an hour ago. */
async function siteFor(intent: Intent, seed: number): Promise<{ site: VirtualSite; close: () => void }> {
  const folder = temporaryFolder();
  const common = { scenario: "busy-day", start: START };
  if (intent === "claim") {
    const site = virtualSite({ ...common, folder, seed, unnamed: true });
    return { site, close: () => site.close() };
  }
  const broken = virtualSite({ ...common, folder: temporaryFolder(), seed: seed + 1_000 });
  await broken.start();
  await broken.clock.run(2 * MINUTE_MS);
  broken.kill();
  await broken.clock.run(15 * MINUTE_MS);
  const site = virtualSite({ ...common, folder, seed, unnamed: true, beside: broken });
  const close = (): void => {
    site.close();
    broken.close();
  };
  return { site, close };
}

type Intent = "claim" | "take_over";

interface Outcome {
  readonly wasCut: boolean;
  /** Records that the service lacks up to the newest it has. */
  readonly lost: number;
  /** Bindings too many. */
  readonly doubled: number;
}

/** Provisions, with the power cut once as the n-th request comes in, or as its answer goes out; proves how it ended. */
async function provisionWithCut(intent: Intent, at: { what: "request" | "answer"; n: number }): Promise<Outcome> {
  const { site, close } = await siteFor(intent, at.n);
  let requests = 0;
  const power: { cut: "not yet" | "now" | "done" } = { cut: "not yet" };
  site.service.way.passing = (what) => {
    if (what === "request") requests += 1;
    if (power.cut !== "not yet" || requests !== at.n || what !== at.what) return Promise.resolve();
    power.cut = "now";
    site.cutPower();
    return new Promise(() => undefined);
  };
  let agent = await site.start();
  await agent.enterSerial("booth-1", SERIAL, BY);
  await site.clock.runUntil(() => power.cut === "now" || stateOf(agent) === "active", 30 * MINUTE_MS);
  if (power.cut === "now") {
    power.cut = "done";
    await site.clock.run(MINUTE_MS);
    agent = await site.start();
    await site.clock.runUntil(() => stateOf(agent) === "active", 30 * MINUTE_MS);
  }
  await site.clock.run(2 * MINUTE_MS);
  await site.stop();
  const { db } = site.service;
  // One claim, one binding, and everything since the start on its one stream.
  const claims = rows(db, "SELECT generation FROM provisioning_audit WHERE action = ?", intent);
  expect(claims).toEqual([{ generation: intent === "claim" ? 1 : 2 }]);
  const keys = rows(db, "SELECT idem_key FROM idempotency");
  expect(keys).toHaveLength(intent === "claim" ? 1 : 2);
  const streams = rows<{ least: number; most: number; stored: number }>(
    db,
    `SELECT min(seq) AS least, max(seq) AS most, count(*) AS stored FROM records JOIN streams s ON s.id = stream_no
     WHERE s.generation = ? GROUP BY s.id`,
    intent === "claim" ? 1 : 2,
  );
  expect(streams).toHaveLength(1);
  expect(streams[0]).toMatchObject({ least: 1, most: streams[0]?.stored });
  expect(site.lines.filter((line) => line.startsWith("FAILED"))).toEqual([]);
  close();
  const [stream] = streams;
  const lost = (stream?.most ?? 0) - (stream?.stored ?? 0);
  return { wasCut: power.cut === "done", lost, doubled: claims.length - 1 };
}

it.each(["claim", "take_over"] as const)(
  "power cut at each step of a %s: active in the end, with the same claim and one stream",
  async (intent) => {
    let cuts = 0;
    let lost = 0;
    let doubled = 0;
    for (const what of ["request", "answer"] as const) {
      for (let n = 1; ; n += 1) {
        const outcome = await provisionWithCut(intent, { what, n });
        lost += outcome.lost;
        doubled += outcome.doubled;
        if (!outcome.wasCut) break;
        cuts += 1;
      }
    }
    process.stdout.write(`${intent}: ${cuts} power cuts, all active in the end with one claim\n`);
    // Look-up, claim, completion and verification at least, each before and after the service had it.
    expect(cuts).toBeGreaterThanOrEqual(8);
    const counted = { injected: cuts, lost, doubled, wrong: 0, passed: lost + doubled === 0 };
    recordFault({ row: 3, fault: `power cut at each step of a ${intent}`, ...counted });
  },
);
