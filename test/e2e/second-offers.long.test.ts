import { expect, it } from "vitest";
import { rows } from "../../simulators/service/storage/db.ts";
import { activeSite, boothOf, MINUTE, type ActiveSite } from "../support/active-site.ts";

interface Columns {
  readonly s0: number;
  readonly k: string[];
  t0: unknown;
}

interface Second {
  readonly mono: number;
  readonly records: number;
}

interface Refusing extends ActiveSite {
  /** What the service refuses from now on. */
  readonly refuse: (refuses: (seq: number) => boolean) => void;
  /** Batches of what had been set aside. */
  readonly second: readonly Second[];
  /** Seqs that the service holds. */
  readonly held: () => ReadonlySet<number>;
}

/** How the service refuses a batch with such records: it names each, or takes nothing of the whole. */
const WAYS = {
  "names each": ({ s0, k }: Columns, refuses: (seq: number) => boolean) =>
    k.forEach((_, index) => refuses(s0 + index) && (k[index] = "?")),
  "takes nothing of a batch with such a record": (columns: Columns, refuses: (seq: number) => boolean) => {
    if (columns.k.some((_, index) => refuses(columns.s0 + index))) columns.t0 = "soon";
  },
} as const;
type WayName = keyof typeof WAYS;

async function refusingSite(way: WayName): Promise<Refusing> {
  const bed = await activeSite();
  const { site, agent } = bed;
  const held = (): ReadonlySet<number> =>
    new Set(rows<{ seq: number }>(site.service.db, "SELECT seq FROM records").map(({ seq }) => seq));
  const second: Second[] = [];
  let refuses: (seq: number) => boolean = () => false;
  const { answers } = site.service.way;
  site.service.way.answers = (batch, take) => {
    const columns = batch as Columns;
    const has = held();
    if (columns.s0 <= boothOf(agent).log.acked_seq && !has.has(columns.s0))
      second.push({ mono: site.clock.mono(), records: columns.k.length });
    WAYS[way](columns, (seq) => refuses(seq) && !has.has(seq));
    return answers(batch, take);
  };
  return { ...bed, second, held, refuse: (now) => void (refuses = now) };
}

/** Nothing is taken for so long. */
async function refusesAll({ site, agent, refuse }: Refusing, minutes: number): Promise<void> {
  refuse(() => true);
  await site.clock.run(minutes * MINUTE);
  expect(boothOf(agent).log.refused.count).toBeGreaterThan(200);
}

it.each([
  ["names each", "each fourth record", (seq: number) => seq % 4 === 0],
  ["takes nothing of a batch with such a record", "each fiftieth record", (seq: number) => seq % 50 === 0],
] as const)(
  "a service that is well again, and %s: what it would take behind the head that it refuses still, and behind %s, is delivered within ten minutes",
  async (way, _, isPoison) => {
    const bed = await refusingSite(way);
    const { site, agent, refuse, held } = bed;
    await refusesAll(bed, 40);
    const { acked_seq } = boothOf(agent).log;
    const has = held();
    const aside = Array.from({ length: acked_seq }, (_, index) => index + 1).filter((seq) => !has.has(seq));
    const head = new Set(aside.slice(0, 150));
    const poison = aside.filter((seq) => head.has(seq) || isPoison(seq));
    refuse((seq) => poison.includes(seq));
    await site.clock.run(10 * MINUTE);
    const now = held();
    expect(poison.filter((seq) => now.has(seq))).toEqual([]);
    expect(aside.filter((seq) => !now.has(seq) && !poison.includes(seq))).toEqual([]);
    expect(boothOf(agent).log.refused.count).toBe(poison.length);
    process.stdout.write(
      `second offers: the service ${way}; ${aside.length} aside, ${poison.length} of them for good, the others delivered\n`,
    );
  },
);

it.each(Object.keys(WAYS) as WayName[])(
  "a service that refuses all, and %s, is offered little of it again: twenty tries in five minutes at most",
  async (way) => {
    const bed = await refusingSite(way);
    await refusesAll(bed, 60);
    const turns = Map.groupBy(bed.second, ({ mono }) => Math.floor(mono / (5 * MINUTE)));
    const tries = [...turns.values()].map((turn) => turn.length);
    expect(tries.length).toBeGreaterThan(5);
    expect(Math.max(...tries)).toBeLessThanOrEqual(20);
  },
);
