import { expect, it } from "vitest";
import { rows } from "../../simulators/service/storage/db.ts";
import { activeSite, boothOf, MINUTE, type ActiveSite } from "../support/active-site.ts";

interface Columns {
  readonly s0: number;
  readonly k: string[];
  t0: unknown;
}

/**
 * The two ways in which the service rejects a batch with such records: it names each record, or rejects the whole
 * batch.
 */
const WAYS = {
  "naming each rejected record": ({ s0, k }: Columns, refuses: (seq: number) => boolean) =>
    k.forEach((_, index) => refuses(s0 + index) && (k[index] = "?")),
  "rejecting whole batches": (columns: Columns, refuses: (seq: number) => boolean) => {
    if (columns.k.some((_, index) => refuses(columns.s0 + index))) columns.t0 = "soon";
  },
} as const;
type WayName = keyof typeof WAYS;

interface Refusing extends ActiveSite {
  /** Sets the records that the service rejects from now on. */
  readonly refuse: (refuses: (seq: number) => boolean) => void;
  /** Number of batches since the last call. */
  readonly batches: () => number;
  /** Returns the seqs up to `newest_seq` that the service lacks. */
  readonly lacking: (newest_seq: number) => readonly number[];
}

async function refusingSite(way: WayName, options: Parameters<typeof activeSite>[0] = {}): Promise<Refusing> {
  const bed = await activeSite(options);
  const { site } = bed;
  let refuses: (seq: number) => boolean = () => false;
  let batches = 0;
  const { answers } = site.service.way;
  site.service.way.answers = (batch, take) => {
    batches += 1;
    WAYS[way](batch as Columns, (seq) => refuses(seq));
    return answers(batch, take);
  };
  return {
    ...bed,
    refuse: (now) => void (refuses = now),
    batches() {
      const sum = batches;
      batches = 0;
      return sum;
    },
    lacking(newest_seq) {
      const all = rows<{ seq: number }>(site.service.db, "SELECT seq FROM records");
      const held = new Set(all.map(({ seq }) => seq));
      return Array.from({ length: newest_seq }, (_, index) => index + 1).filter((seq) => !held.has(seq));
    },
  };
}

it.each(Object.keys(WAYS) as WayName[])(
  "a service that rejects all records for 40 minutes (%s) gets few requests, and then all valid records within 10 minutes",
  async (way) => {
    const bed = await refusingSite(way);
    const { site, agent, refuse, lacking } = bed;
    bed.batches();
    refuse(() => true);
    await site.clock.run(40 * MINUTE);
    // Nine attempts with up to 50 records each, together with the halved batches.
    expect(bed.batches()).toBeLessThan(9 * 200);
    const { newest_seq } = boothOf(agent).log;
    const waiting = lacking(newest_seq);
    expect(waiting.length).toBeGreaterThan(200);
    expect(boothOf(agent).log.refused.count).toBeGreaterThan(30);
    const poison = waiting.filter((_, index) => index < 20 || index % 50 === 0);
    refuse((seq) => poison.includes(seq));
    await site.clock.run(10 * MINUTE);
    expect(lacking(newest_seq)).toEqual(poison);
    expect(boothOf(agent).log.refused).toMatchObject({ count: poison.length, newest: { seq: poison.at(-1) } });
    expect(boothOf(agent).log.acked_seq).toBe((poison[0] ?? 0) - 1);
    expect(site.lines.join("\n")).not.toMatch(/the gateway sets them aside/);
  },
);

it("a record that the service rejects for a day is set aside, declared as a gap to the service, and logged", async () => {
  const poll = { fast: { poll_interval_ms: MINUTE }, slow: { poll_interval_ms: MINUTE } };
  const bed = await refusingSite("rejecting whole batches", {
    booth: { poll },
    commit_interval_ms: 5 * MINUTE,
  });
  const { site, agent, refuse, lacking } = bed;
  const poison = boothOf(agent).log.newest_seq + 2;
  refuse((seq) => seq === poison);
  await site.clock.run(23 * 60 * MINUTE);
  expect(boothOf(agent).log).toMatchObject({ acked_seq: poison - 1, refused: { count: 1, newest: { seq: poison } } });
  expect(site.lines.join("\n")).not.toMatch(/the gateway sets them aside/);
  await site.clock.run(80 * MINUTE);
  expect(site.lines.join("\n")).toMatch(
    new RegExp(`the service permanently rejects .*${poison}.*: .*; the gateway sets them aside`),
  );
  const { acked_seq, newest_seq, refused } = boothOf(agent).log;
  expect([newest_seq - acked_seq < 20, refused.count, lacking(acked_seq)]).toEqual([true, 1, [poison]]);
  const gaps = rows<{ from_seq: number; to_seq: number }>(site.service.db, "SELECT from_seq, to_seq FROM seq_gaps");
  expect(gaps).toEqual([{ from_seq: poison, to_seq: poison }]);
});
