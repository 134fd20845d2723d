import { describe, expect, it } from "vitest";
import { createBooth } from "../../../simulators/plc/model/booth.ts";
import type { Scenario } from "../../../simulators/plc/model/scenario.ts";
import { SCENARIOS } from "../../../simulators/plc/scenarios/all.ts";
import { oracle } from "../../../simulators/service/admin/oracle.ts";
import { row } from "../../../simulators/service/storage/db.ts";
import { historyOf } from "../../../simulators/service/demo/history.ts";
import { boothFigures } from "../../../simulators/service/figures/booth.ts";
import { rangeHash } from "../../../simulators/service/ingest/canonical.ts";
import { heldUpTo, storedRange } from "../../../simulators/service/ingest/records.ts";
import { type ChunkAck, ingestChunk } from "../../../simulators/service/ingest/store.ts";
import { findStream } from "../../../simulators/service/ingest/streams.ts";
import { seededRandom } from "../../support/seeded-random.ts";
import { seedOf } from "../../support/seed.ts";
import { chunkOf } from "./chunk-log.ts";
import { answerOf, batchOf, type Bench, boundBench, EPOCH, HOUR, type LogRecord, MINUTE } from "./service-log.ts";

const DAYS = 3;
const END = EPOCH + DAYS * 24 * HOUR;
const seed = seedOf("chunk-mix");

type Draw = () => number;

/** Returns a fact of the gateway among the records of a log: an hour, an incident or a stage. */
function factAt(mono: number, nth: number): LogRecord {
  const at = EPOCH + mono;
  const incident = { tag_name: `tag ${nth % 3}`, check: "range", logic: {}, reason: "odd", severity: "warning" };
  const [kind, value] = (
    [
      ["d", { hour: at, figures: { gas: nth } }],
      ["i", { ...incident, first_seen_at: at, last_seen_at: at, resolved_at: null }],
      ["m", { mode: "spray", start: at - MINUTE, end: at }],
    ] as const
  )[nth % 3] ?? ["e", {}];
  return { kind, tag: "", mono, value, quality: "good" };
}

/** A scenario's records, with facts and an event among them. */
function logOf(scenario: Scenario): LogRecord[] {
  const booth = createBooth({ scenario, seed: 1, start: EPOCH });
  // The third of a fleet is one whose gateway was away.
  return historyOf(booth, 2, { start: EPOCH, end: END }).flatMap(({ kind, tag, mono, value, quality }, nth) => {
    const record = { kind, tag, mono, value: JSON.parse(value) as unknown, quality };
    if (nth % 37 === 5) return [record, factAt(mono, nth)];
    return nth % 101 === 7
      ? [record, { kind: "e", tag: "", mono, value: { event: "x", nth }, quality: "good" }]
      : [record];
  });
}

interface Piece {
  readonly from: number;
  readonly records: readonly LogRecord[];
  readonly is_chunk: boolean;
}

/** Whether a chunk of these records has a body: facts aren't in it. */
function hasBody(records: readonly LogRecord[]): boolean {
  return records.some(({ kind }) => !"mcdvi".includes(kind));
}

/** A log cut in pieces of random sizes, a part of them chunks. */
function piecesOf(records: readonly LogRecord[], draw: Draw, chunks: number): Piece[] {
  const pieces: Piece[] = [];
  for (let first = 0; first < records.length;) {
    const own = records.slice(first, first + 1 + Math.floor(draw() * 50));
    const is_chunk = draw() < chunks && hasBody(own);
    pieces.push({ from: first + 1, records: own, is_chunk });
    first += own.length;
  }
  return pieces;
}

function give(
  { db, ingest }: Bench,
  { from, records, is_chunk }: Piece,
): Pick<ChunkAck, "conflict" | "reject" | "error"> {
  if (!is_chunk) return ingest(batchOf(records, { s0: from }));
  return ingestChunk(db, { gatewayId: "gw-1", nowMs: EPOCH }, chunkOf(records, { s0: from }));
}

function shuffled<T>(list: readonly T[], draw: Draw): T[] {
  return list
    .map((one) => ({ one, place: draw() }))
    .sort((a, b) => a.place - b.place)
    .map(({ one }) => one);
}

/** All answers about a booth. */
async function toldOf(bench: Bench): Promise<Record<string, unknown>> {
  const { db, boothId } = bench;
  const { stages, cycles, plc_cycles, gas, kwh, installations, maintenance, revisions } = boothFigures(
    db,
    boothId,
    END,
  );
  const window = { start: new Date(EPOCH + 5 * HOUR).toISOString(), end: new Date(EPOCH + 40 * HOUR).toISOString() };
  const stream = findStream(db, "stream-1");
  if (stream === undefined) throw new Error("no stream");
  const get = (path: string, query: Readonly<Record<string, string>> = {}): Promise<unknown> =>
    answerOf(bench, path, { now: END, query });
  return {
    figures: JSON.stringify({ stages, cycles, plc_cycles, gas, kwh, installations, maintenance, revisions }),
    hash: rangeHash(storedRange(db, stream, [1, Number.MAX_SAFE_INTEGER])),
    part: storedRange(db, stream, [20, 131]),
    held: heldUpTo(db, stream, 0),
    oracle: oracle(db).map((one) => ({ ...one, duplicates_offered: 0 })),
    history: await get("/api/booths/:id/history", { tags: "mode,gas", limit: "1000", ...window }),
    csv: await get("/api/booths/:id/export_csv", window),
    latest: await get("/api/booths/latest_updates"),
    incidents: await get("/api/validation_incidents", { limit: "-1" }),
  };
}

function segments({ db }: Bench): number {
  return row<{ n: number }>(db, "SELECT count(*) AS n FROM segments")?.n ?? -1;
}

describe("a log sent in chunks (compressed blocks)", () => {
  it.each(SCENARIOS.map((scenario) => [scenario.name, scenario] as const))(
    "gives the same reports as the same log sent in batches, in scenario %s",
    async (_, scenario) => {
      const random = seededRandom(seed);
      const draw = (): number => random.next();
      const log = logOf(scenario);
      const batches = boundBench();
      for (const piece of piecesOf(log, draw, 0))
        expect(give(batches, piece)).toMatchObject({ conflict: null, reject: [] });
      const told = await toldOf(batches);
      expect(segments(batches)).toBe(0);
      expect(JSON.stringify(told["incidents"])).toContain("odd");

      const chunks = boundBench();
      for (const piece of piecesOf(log, draw, 1))
        expect(give(chunks, piece)).toMatchObject({ conflict: null, reject: [] });
      // But for the first, which holds the parameters, and those in which nothing but facts stands.
      expect(segments(chunks)).toBeGreaterThan(0);
      expect(await toldOf(chunks)).toEqual(told);

      // Cut in two ways, each piece once or up to three times, in any order.
      const pieces = [...piecesOf(log, draw, 0.6), ...piecesOf(log, draw, 0.6)];
      const mixed = boundBench();
      const often = pieces.flatMap((piece) => Array.from({ length: 1 + Math.floor(draw() * 3) }, () => piece));
      // A chunk goes first, before anything of its range came as a batch, so that one at least is kept whole: none with the parameters.
      const whole = pieces.filter(({ from, records }) => from > 1 && hasBody(records)).slice(-1);
      const offered = [...whole.map((piece) => ({ ...piece, is_chunk: true })), ...shuffled(often, draw)];
      for (const [nth, piece] of offered.entries()) {
        expect(give(mixed, piece)).toMatchObject({ conflict: null, reject: [] });
        // A report in between must not change later results.
        if (nth % 9 === 0) boothFigures(mixed.db, mixed.boothId, END);
      }
      expect(segments(mixed)).toBeGreaterThan(0);
      expect(await toldOf(mixed)).toEqual(told);
    },
  );

  it("gives different reports if a chunk is missing", async () => {
    const random = seededRandom(seed);
    const [scenario] = SCENARIOS;
    if (scenario === undefined) throw new Error("no scenario");
    const pieces = piecesOf(logOf(scenario), () => random.next(), 1);
    const all = boundBench();
    const some = boundBench();
    for (const piece of pieces) give(all, piece);
    for (const piece of pieces.toSpliced(2, 1)) give(some, piece);
    const one = await toldOf(all);
    const other = await toldOf(some);
    for (const name of ["hash", "held", "oracle"]) expect([name, other[name]]).not.toEqual([name, one[name]]);
  });
});
