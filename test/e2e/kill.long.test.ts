import { join } from "node:path";
import { expect, it } from "vitest";
import { planGroups } from "../../src/acquisition/modbus/driver.ts";
import type { TakenEntry } from "../../src/domain/taken.ts";
import { drain, isSameAtService } from "../support/delivered.ts";
import { recordFault } from "../support/faults.ts";
import { CHECKER, writeHistory } from "../checker/tapped-history.ts";
import { killer, MOMENTS, type Moment } from "./kill-moments.ts";
import { MANY_PROCESSES_MS, runProgram } from "../support/processes.ts";
import { clickBooth } from "../support/profiles.ts";
import { realSite, SERIAL } from "../support/real-site.ts";
import { ownRecords } from "../support/store.ts";
import { accountsOf, lostOf, tailEntries } from "../system/taken-witness.ts";
import { seededRandom } from "../support/seeded-random.ts";

const KILLS = 12;
const SEED = 20_260_302;

/**
 * Returns the number of requests to the PLC for those polls: `least` if each slow poll shared the fast poll's request,
 * `most` if none did.
 */
function requestsFor({
  fast = 0,
  slow = 0,
}: Readonly<Record<string, number>>): Record<"least" | "most" | "perPoll", number> {
  const profile = clickBooth();
  const options = { ...profile.quirks, round_trip_registers: 500 };
  const costOf = (...groups: string[]): number => planGroups(profile, groups, { options, learned: {} }).pieces.length;
  const apart = costOf("slow");
  const together = costOf("fast", "slow");
  const most = costOf("fast") * fast + apart * slow;
  return { least: most - (costOf("fast") + apart - together) * slow, most, perPoll: together };
}

it(
  `the agent loses and duplicates no record if it is killed ${KILLS} times at random moments`,
  { timeout: MANY_PROCESSES_MS },
  async () => {
    const site = await realSite({ speed: 60, serial: SERIAL });
    const random = seededRandom(SEED);
    const { kill, tap } = await killer(site, random);
    const left: TakenEntry[] = [];
    const kills: Partial<Record<Moment, number>> = {};
    for (let round = 0; round < KILLS; round += 1) {
      const moment = MOMENTS[round % MOMENTS.length] ?? "starting";
      kills[moment] = (kills[moment] ?? 0) + 1;
      await kill(site.startAgent(), moment);
      left.push(...tailEntries(site.runtimeDir));
    }
    const last = site.startAgent();
    await last.line(/service link is up/);
    last.signal("SIGTERM");
    expect(await last.ended).toBe(0);

    const taken = ownRecords(site.dataDir);
    const accounts = accountsOf(taken.records);
    const asked = requestsFor(accounts.polls);
    const { requests } = site.plc.counts;
    const lost = lostOf(left, taken.records);

    await site.plc.offline();
    const own = await drain(site);
    const [stream, ...others] = site.service.oracle();
    const isSame = isSameAtService(site, own);
    const counted = {
      kills,
      records: own.records.length,
      takes: taken.last_take,
      polls: accounts.polls,
      left_in_tail: left.length,
      plc_requests: requests,
      unfinished_requests: requests - asked.least,
      batches: tap.publishes.filter(({ topic }) => topic.endsWith("/up/batch")).length,
      duplicates_offered: stream?.duplicates_offered,
      missing: own.records.length - (stream?.count ?? 0) + lost.length + (taken.last_take - accounts.takes),
      twice: accounts.doubled,
    };
    process.stdout.write(`kill -9: ${JSON.stringify(counted)}\n`);
    recordFault({
      row: 1,
      fault: "agent kill -9 at any moment",
      injected: KILLS,
      lost: counted.missing,
      doubled: counted.twice,
      wrong: isSame ? 0 : 1,
      passed: isSame && counted.missing === 0 && counted.twice === 0,
    });

    // Nothing that a dead agent had taken is lost, every take number appears once, and by the PLC's request count no
    // answered poll is missing. The exception is the poll in progress at each kill.
    expect(lost).toEqual([]);
    expect(accounts.takes).toBe(taken.last_take);
    expect(accounts.doubled).toBe(0);
    expect(counted.unfinished_requests).toBeGreaterThanOrEqual(0);
    expect(requests - asked.most).toBeLessThanOrEqual((KILLS + 1) * asked.perPoll);
    // The service has each seq once, from 1 to the newest, and its records match the agent's.
    expect(others).toEqual([]);
    expect(stream).toMatchObject({
      stream_id: own.stream,
      serial: SERIAL,
      generation: 1,
      ranges: [[1, own.records.length]],
      conflicts_offered: 0,
      rejected: [],
      gaps: [],
      withdrawn: false,
    });
    expect(isSame).toBe(true);

    const history = join(site.folder, "history.jsonl");
    writeHistory(history, tap.publishes);
    const database = join(site.folder, "service", "service.db");
    const judged = await runProgram(CHECKER, ["--history", history, "--sqlite", database]);
    process.stdout.write(judged.out);
    expect(judged.out).toMatch(new RegExp(`^\\d+ records offered, \\d+ acked, ${own.records.length} stored\n$`));
    expect(judged.code).toBe(0);
  },
);
