import { describe, expect, it } from "vitest";
import { createBooth } from "../../../simulators/plc/model/booth.ts";
import type { Scenario } from "../../../simulators/plc/model/scenario.ts";
import { SCENARIOS } from "../../../simulators/plc/scenarios/all.ts";
import { oracle, type OracleStream } from "../../../simulators/service/admin/oracle.ts";
import { historyOf } from "../../../simulators/service/demo/history.ts";
import { boothFigures } from "../../../simulators/service/figures/booth.ts";
import { rangeHash } from "../../../simulators/service/ingest/canonical.ts";
import { storedRange } from "../../../simulators/service/ingest/records.ts";
import { findStream } from "../../../simulators/service/ingest/streams.ts";
import { seedOf } from "../../support/seed.ts";
import { batchOf, type Bench, boundBench, EPOCH, HOUR } from "./service-log.ts";
import { seededRandom } from "../../support/seeded-random.ts";

const DAYS = 3;
const END = EPOCH + DAYS * 24 * HOUR;
const seed = seedOf("any-order");

type Batch = Record<string, unknown>;

/** A scenario's records as a gateway that was away once would have batched them, in batches of random sizes. */
function batchesOf(scenario: Scenario, random: () => number): Batch[] {
  const booth = createBooth({ scenario, seed: 1, start: EPOCH });
  // The third of a fleet is one whose gateway was away.
  const records = historyOf(booth, 2, { start: EPOCH, end: END }).map(({ kind, tag, mono, value, quality }) => {
    return { kind, tag, mono, value: JSON.parse(value) as unknown, quality };
  });
  const out: Batch[] = [];
  for (let first = 0; first < records.length;) {
    const size = 1 + Math.floor(random() * 60);
    out.push(batchOf(records.slice(first, first + size), { s0: first + 1 }));
    first += size;
  }
  return out;
}

/** Every batch once or up to three times, as after lost acks, in any order. */
function disordered(batches: readonly Batch[], random: () => number): Batch[] {
  const repeated = batches.flatMap((batch) => Array.from({ length: 1 + Math.floor(random() * 3) }, () => batch));
  return repeated
    .map((batch) => ({ batch, place: random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ batch }) => batch);
}

/** All that reports are made from, as text. */
function factsOf({ db, boothId }: Bench): string {
  const { stages, cycles, plc_cycles, gas, kwh, installations, maintenance, revisions } = boothFigures(
    db,
    boothId,
    END,
  );
  return JSON.stringify({ stages, cycles, plc_cycles, gas, kwh, installations, maintenance, revisions });
}

function contentOf({ db }: Bench): { hash: string; oracle: readonly unknown[] } {
  const stream = findStream(db, "stream-1");
  if (stream === undefined) throw new Error("no stream");
  const hash = rangeHash(storedRange(db, stream, [1, Number.MAX_SAFE_INTEGER]));
  return { hash, oracle: oracle(db).map((one: OracleStream) => ({ ...one, duplicates_offered: 0 })) };
}

describe("late and repeated delivery in random order", () => {
  it.each(SCENARIOS.map((scenario) => [scenario.name, scenario] as const))("%s: nothing differs", (_, scenario) => {
    const random = seededRandom(seed);
    const batches = batchesOf(scenario, () => random.next());
    const inOrder = boundBench();
    for (const batch of batches) expect(inOrder.ingest(batch)).toMatchObject({ conflict: null, reject: [] });
    const facts = factsOf(inOrder);
    const content = contentOf(inOrder);
    expect(boothFigures(inOrder.db, inOrder.boothId, END).stages.length).toBeGreaterThan(1);
    const late = boundBench();
    for (const [i, batch] of disordered(batches, () => random.next()).entries()) {
      late.ingest(batch);
      // Whoever looks in between must not spoil what comes later.
      if (i % 5 === 0) factsOf(late);
    }
    expect(contentOf(late)).toEqual(content);
    expect(factsOf(late)).toBe(facts);
  });

  it("would notice a record that went missing", () => {
    const random = seededRandom(seed);
    const [scenario] = SCENARIOS;
    if (scenario === undefined) throw new Error("no scenario");
    const batches = batchesOf(scenario, () => random.next());
    const all = boundBench();
    const some = boundBench();
    for (const batch of batches) all.ingest(batch);
    for (const batch of batches.slice(0, -1)) some.ingest(batch);
    expect(contentOf(some)).not.toEqual(contentOf(all));
  });
});
