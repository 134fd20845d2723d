import { expect, it } from "vitest";
import { rows } from "../../simulators/service/storage/db.ts";
import { boothOf, MINUTE, START } from "../support/active-site.ts";
import { recordFault } from "../support/faults.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { virtualSite } from "../support/virtual-site.ts";

interface Counts {
  readonly lost: number;
  readonly doubled: number;
  readonly wrong: number;
}

/**
 * Binds a booth at a service without generations, with one power cut when the n-th request arrives or its answer leaves. Returns the
 * provisioning records compared with the one that should exist; null if there was no n-th request.
 */
async function cutAt(cutOn: "request" | "answer", n: number): Promise<Counts | null> {
  const facility = { plain: true };
  const site = virtualSite({ folder: temporaryFolder(), scenario: "busy-day", start: START, seed: n, facility });
  let requests = 0;
  const power = { isCut: false };
  site.service.way.passing = (passing) => {
    if (passing === "request") requests += 1;
    if (power.isCut || requests !== n || passing !== cutOn) return Promise.resolve();
    power.isCut = true;
    site.cutPower();
    return new Promise(() => undefined);
  };
  let agent = await site.start();
  const isActive = (): boolean => boothOf(agent).provisioning.state === "active";
  await site.clock.runUntil(() => power.isCut || isActive(), 30 * MINUTE);
  if (power.isCut) {
    await site.clock.run(MINUTE);
    agent = await site.start();
    await site.clock.runUntil(isActive, 30 * MINUTE);
  }
  const found = rows<{ gateway_id: string | null; completion_status: string }>(
    site.service.db,
    "SELECT gateway_id, completion_status FROM provisionings",
  );
  const wrong = found.filter((one) => one.gateway_id !== null || one.completion_status !== "COMPLETE").length;
  expect(site.lines.filter((line) => line.startsWith("FAILED"))).toEqual([]);
  site.close();
  return power.isCut ? { lost: found.length === 0 ? 1 : 0, doubled: Math.max(0, found.length - 1), wrong } : null;
}

it("a power cut at any step of binding a booth to a plain service leaves exactly one complete provisioning record there", async () => {
  const sum = { lost: 0, doubled: 0, wrong: 0 };
  let cuts = 0;
  for (const cutOn of ["request", "answer"] as const) {
    for (let counts = await cutAt(cutOn, 1), n = 2; counts !== null; counts = await cutAt(cutOn, n), n += 1) {
      cuts += 1;
      for (const name of ["lost", "doubled", "wrong"] as const) sum[name] += counts[name];
    }
  }
  // At least search, facility, claim, completion and read-back, each before and after the service processed it.
  expect(cuts).toBeGreaterThanOrEqual(10);
  const passed = sum.lost + sum.doubled + sum.wrong === 0;
  recordFault({ row: 3, fault: "plain level: power cut at each step of a claim", injected: cuts, ...sum, passed });
  expect(sum).toEqual({ lost: 0, doubled: 0, wrong: 0 });
});
