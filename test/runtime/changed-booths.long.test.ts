import { expect, it } from "vitest";
import type { BoothSetup } from "../../src/acquisition/link.ts";
import { LinkError } from "../../src/domain/link-error.ts";
import { rows } from "../../simulators/service/storage/db.ts";
import { activeSite, boothOf, MINUTE } from "../support/active-site.ts";

/** A bound booth that is read every second, with what another configuration makes of it, and of a booth beside it. */
async function changingSite() {
  const reads = [] as number[];
  const setups = [] as BoothSetup[];
  let connections = 0;
  const { site, agent } = await activeSite({
    for_ms: MINUTE,
    given(parts) {
      const watched = parts.booths.map((setup): BoothSetup => ({
        ...setup,
        makeDriver(passwords) {
          const driver = setup.makeDriver(passwords);
          connections += 1;
          return {
            ...driver,
            read(groups) {
              if (groups.includes("fast")) reads.push(parts.clock.mono());
              return driver.read(groups);
            },
          };
        },
      }));
      setups.push(...watched);
      return { ...parts, booths: watched };
    },
  });
  const [first] = setups;
  if (first === undefined) throw new Error("a site has a booth");
  const firstAs = (tz: string): BoothSetup => ({ ...first, config: { ...first.config, tz } });
  const secondAs = (tz: string): BoothSetup => ({
    ...first,
    config: { ...first.config, id: "booth-2", serial: "ABCD-123-124", tz },
  });
  const become = async (...booths: readonly BoothSetup[]): Promise<void> => {
    // What ends waits for what it has under way.
    await Promise.all([agent.become({ booths }), site.clock.run(1_000)]);
  };
  const steps = (): readonly number[] => reads.slice(1).map((at, index) => at - (reads[index] ?? 0));
  const told = (text: string): number => site.lines.filter((line) => line.includes(text)).length;
  return { site, agent, first, firstAs, secondAs, become, steps, told, connections: () => connections };
}

it("a booth is polled exactly on time during 200 configuration changes of another booth, and no timer is left over", async () => {
  const { site, agent, first, secondAs, become, steps, connections } = await changingSite();
  // Its driver is another's: here alone the reads of both would be counted.
  const beside = (tz: string): BoothSetup => ({ ...secondAs(tz), makeDriver: () => nobody });
  await become(first, beside("UTC"));
  const sleeping = site.clock.sleeping();
  for (let round = 0; round < 200; round++) await become(first, beside(round % 2 === 0 ? "Europe/Madrid" : "UTC"));
  expect(site.clock.sleeping()).toBeLessThanOrEqual(sleeping + 1);
  await become(first);
  await become(first, beside("UTC"));
  await become(first);
  expect(new Set(steps())).toEqual(new Set([1_000]));
  expect(connections()).toBe(1);
  expect(agent.status().booths.map(({ booth }) => booth)).toEqual(["booth-1"]);
});

it("a booth keeps its log and its binding when its settings change or when it is removed and added again", async () => {
  const { site, agent, firstAs, secondAs, become, told, connections } = await changingSite();
  for (let round = 0; round < 20; round++) await become(firstAs(round % 2 === 0 ? "Europe/Madrid" : "America/Denver"));
  expect([connections(), told("service link is up"), told("service link is down")]).toEqual([21, 1, 0]);
  await become(secondAs("UTC"));
  await become(firstAs("UTC"), secondAs("UTC"));
  // In one turn: no session has seen it gone.
  await Promise.all([
    agent.become({ booths: [secondAs("UTC")] }).then(() => agent.become({ booths: [firstAs("UTC")] })),
    site.clock.run(5 * MINUTE),
  ]);
  const { newest_seq, acked_seq } = boothOf(agent).log;
  expect(newest_seq - acked_seq).toBeLessThan(50);
  const seqs = rows<{ seq: number }>(site.service.db, "SELECT seq FROM records ORDER BY seq").map(({ seq }) => seq);
  expect(seqs).toEqual(seqs.map((_, index) => index + 1));
  expect(seqs.length).toBeGreaterThanOrEqual(acked_seq);
});

it("the agent rejects a configuration change with a booth that can't be opened, and keeps polling as before", async () => {
  const { site, agent, first, secondAs, become, steps } = await changingSite();
  const broken = { ...secondAs("UTC"), profile: null as unknown as BoothSetup["profile"] };
  await expect(become(firstOther(first), broken)).rejects.toThrow();
  await site.clock.run(MINUTE);
  expect(agent.status().booths.map(({ booth, plc }) => [booth, plc.kind])).toEqual([["booth-1", "up"]]);
  expect(new Set(steps())).toEqual(new Set([1_000]));
});

function firstOther(first: BoothSetup): BoothSetup {
  return { ...first, config: { ...first.config, tz: "UTC" } };
}

const nobody: ReturnType<BoothSetup["makeDriver"]> = {
  open: () => Promise.reject(new LinkError("refused", "nobody is there")),
  read: () => Promise.reject(new LinkError("refused", "nobody is there")),
  close: () => Promise.resolve(),
};
