// Needs Debian packages: mosquitto, openssl, postgresql-15.
import { availableParallelism } from "node:os";
import { expect, it, onTestFinished } from "vitest";
import { accountLine, ranLine } from "../../simulators/fleet/cli.ts";
import { seedOf } from "../support/seed.ts";
import { ofTest, temporaryFolder } from "../support/temporary.ts";
import { rideFleet } from "./run.ts";
import { SECOND_MS } from "../../src/domain/time.ts";

it(
  "ten thousand gateways lose no record in an hour in which a part of the service is killed every ten seconds",
  async () => {
    const stopping = new AbortController();
    onTestFinished(() => stopping.abort());
    const told = (line: string): void => void process.stdout.write(`${line}\n`);
    const { kills, account, ran } = await rideFleet({
      folder: temporaryFolder(),
      gateways: 10_000,
      minutes: 60,
      speed: 1,
      outage_minutes: 5,
      seed: seedOf("fleet"),
      kill_every_ms: 10 * SECOND_MS,
      drain_ms: 4_800 * SECOND_MS,
      threads: availableParallelism(),
      atEnd: ofTest,
      signal: stopping.signal,
      told,
    });
    told(ranLine(ran));
    told(accountLine(account));
    expect(account).toMatchObject({ lost: 0, doubled: 0, wrong: 0, waiting: 0, refused: 0 });
    expect(kills).toBeGreaterThan(300);
  },
  3 * 3_600 * SECOND_MS,
);
