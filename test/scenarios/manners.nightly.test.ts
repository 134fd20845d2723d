import { expect, it } from "vitest";
import type { VirtualFault } from "../../simulators/virtual/driver.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { type VirtualSite } from "../support/virtual-site.ts";
import { play } from "./play.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

/** Mon 2026-03-02 07:40 in Denver. */
const BEFORE_WORK = Date.UTC(2026, 2, 2, 14, 40);
const HOURS = 11;
const FAULTS: readonly VirtualFault[] = ["refused", "timeout", "reset"];
const INTERRUPTIONS = 120;

/** Longest interruption: with the longest wait between two connection attempts it is shorter than the bridge. */
const LONGEST_MS = 7_000;
const RETURN_MS = 7_500;

/** Draws a wait so that the booth does not change its mode during the interruption: an unseen change cannot be dated to a poll. */
function quietAfter({ clock, booth }: VirtualSite, draw: () => number): number {
  for (;;) {
    const wait = draw();
    const at = clock.truth() + wait;
    if (booth.truth(at - RETURN_MS, at + LONGEST_MS + RETURN_MS).stages.length === 1) return wait;
  }
}

/**
 * Simulates a badly behaved PLC as the driver sees it: a connection that is taken by another client, closed when idle,
 * or not answered in time, again and again for seconds; and a block that the PLC doesn't have.
 */
async function illMannered(site: VirtualSite): Promise<void> {
  const { clock, plc } = site;
  const random = seededRandom(14);
  plc.bad_tags = ["outdoor_temperature"];
  const every = (HOURS * 60 * MINUTE_MS) / INTERRUPTIONS;
  for (let turn = 0; turn < INTERRUPTIONS; turn += 1) {
    const lasts = Math.floor(random.next() * LONGEST_MS);
    const before = quietAfter(site, () => Math.floor(random.next() * (every - LONGEST_MS - MINUTE_MS)));
    await clock.run(before);
    plc.fault = FAULTS[Math.floor(random.next() * FAULTS.length)] ?? null;
    await clock.run(lasts);
    plc.fault = null;
    await clock.run(every - before - lasts);
  }
}

it("a hundred interruptions by a misbehaving PLC on a working day change no figure", async () => {
  const played = await play({
    scenario: "bad-manners",
    start: BEFORE_WORK,
    hours: HOURS,
    during: illMannered,
  });
  expect(played.site.plc.opens).toBeGreaterThan(INTERRUPTIONS / 2);
  played.close();
});
