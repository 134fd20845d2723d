// Needs Debian packages: mosquitto, postgresql-15. Takes twelve minutes.
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, onTestFinished } from "vitest";
import { ranLine } from "../../simulators/fleet/cli.ts";
import { fleetClock } from "../../simulators/fleet/clock.ts";
import { runFleet } from "../../simulators/fleet/fleet.ts";
import { recordFault } from "../support/faults.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { ADMIN_KEY, smallBroker, smallSite } from "./small-site.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

const AWAY_MS = 10 * MINUTE_MS;
const GATEWAYS = 50;

it(
  "row 52: PostgreSQL stopped for ten minutes: nothing is acked meanwhile, and afterwards nothing is lost or doubled",
  async () => {
    const folder = temporaryFolder();
    const stopping = new AbortController();
    onTestFinished(() => stopping.abort());
    const broker = await smallBroker(folder);
    const site = await smallSite(folder, { gateways: GATEWAYS, broker: broker.service });
    const { postgres, url } = site;
    let outage: Promise<void> | undefined;
    const ran = await runFleet({
      gateways: GATEWAYS,
      booths_per: 1,
      seed: 6,
      url,
      key: ADMIN_KEY,
      clock: fleetClock(1),

      story: [],
      length_ms: AWAY_MS + MINUTE_MS,
      drain_ms: 5 * MINUTE_MS,
      signal: stopping.signal,
      told: () => undefined,
      show({ connected, passed_ms, batches_per_s, real_ms, backlog }) {
        if (passed_ms > MINUTE_MS / 2 && connected === GATEWAYS)
          outage ??= (async () => {
            await postgres.kill();
            await sleep(AWAY_MS, undefined, { signal: stopping.signal });
            await postgres.start();
          })();
        if (Math.floor(real_ms / 1_000) % 60 === 0)
          process.stdout.write(`${connected} connected, ${batches_per_s.toFixed(0)}/s, backlog ${backlog}\n`);
      },
      draining: () => outage ?? Promise.reject(new Error("the gateways never were all connected")),
    });
    const { lost, doubled, wrong, waiting, refused, acked } = await site.account(ran);
    process.stdout.write(`ten minutes without PostgreSQL: ${ranLine(ran)}\n`);
    const passed = lost + doubled + wrong + waiting + refused === 0;
    recordFault({ row: 52, fault: "PostgreSQL stopped for ten minutes", injected: 1, lost, doubled, wrong, passed });
    expect({ lost, doubled, wrong, waiting, refused }).toEqual({
      lost: 0,
      doubled: 0,
      wrong: 0,
      waiting: 0,
      refused: 0,
    });
    // All that was recorded, in the outage too: 51 records every ten seconds.
    expect(acked).toBeGreaterThan(GATEWAYS * 6 * 10 * 51);
  },
  30 * MINUTE_MS,
);
