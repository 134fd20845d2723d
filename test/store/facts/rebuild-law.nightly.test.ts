import Database from "better-sqlite3";
import fc from "fast-check";
import { onTestFinished } from "vitest";
import { deriveFold } from "../../../src/store/facts/fold.ts";
import type { Fold } from "../../../src/store/facts/fold.ts";
import { storePath } from "../../../src/store/open.ts";
import type { Writer } from "../../../src/store/thread/writer.ts";
import { law, testLaws } from "../../derivation/law.ts";
import { changedBy, rebuild } from "../../support/rebuild.ts";
import { seedOf } from "../../support/seed.ts";
import { ingestEntries, writerIn } from "../../support/store.ts";
import { chunkings, entriesOf, steppedWalks, WALK, type Happening } from "../../derivation/streams.ts";
import { memoryFolder } from "../../support/temporary.ts";

interface Lived {
  readonly life: readonly Happening[];
  readonly sizes: readonly number[];
}

interface Bed {
  readonly writer: Writer;
  /** Returns every byte of a stream's stored facts, in seq order. */
  readonly rows: (stream: string) => string;
  booths: number;
}

/** A store for all lives of a law. Each life is a booth of its own. */
const beds = new Map<Fold, Bed>();

function bedOf(fold: Fold): Bed {
  const known = beds.get(fold);
  if (known !== undefined) return known;
  const folder = memoryFolder();
  const writer = writerIn(folder, fold);
  const db = new Database(storePath(folder), { readonly: true });
  const facts = db.prepare("SELECT * FROM fact WHERE stream_id = ? AND replaced = 0 ORDER BY seq");
  const bed: Bed = { writer, booths: 0, rows: (stream) => JSON.stringify(facts.all(stream)) };
  beds.set(fold, bed);
  onTestFinished(() => {
    db.close();
    writer.close();
    beds.delete(fold);
  });
  return bed;
}

/** Ingests a life commit by commit and rebuilds its facts from the stored log. The bytes of the facts must be equal. */
function rebuildsTheSame(fold: Fold, { life, sizes }: Lived): boolean {
  const bed = bedOf(fold);
  const { writer } = bed;
  const stream = ingestEntries(writer, entriesOf(life), {
    booth: `booth-${++bed.booths}`,
    parameters: WALK,
    sizes: sizes.map((size) => 4 * size),
    // Corrects times after each commit, like the store thread, when a clock record has changed them.
    committed: () => {
      while (writer.mend());
    },
  });
  const whole = (): string => JSON.stringify([bed.rows(stream), writer.state(stream), writer.info(stream)]);
  const before = whole();
  const done = rebuild(writer, stream);
  return changedBy(done) === 0 && whole() === before;
}

/** A faulty fold that counts records outside of its state and drops every other fact. */
function forgetful(): Fold {
  let seen = 0;
  return {
    ...deriveFold,
    step(state, record) {
      const next = deriveFold.step(state, record);
      seen += 1;
      return seen % 3 === 0 ? { ...next, facts: [] } : next;
    },
  };
}

/** Facts of a different version than the one that rebuilds: the second fold from an empty state merges no cycle. */
function changedSince(): Fold {
  let starts = 0;
  return {
    ...deriveFold,
    step(state, record) {
      if (state.seq === 0) starts += 1;
      const next = deriveFold.step(state, record);
      return starts % 2 === 0 ? { ...next, facts: next.facts.filter(({ kind }) => kind !== "c") } : next;
    },
  };
}

const LAWS = [
  law<Fold, Lived>({
    name: "a rebuild from the stored log gives the same facts as incremental folding, byte for byte",
    lives: fc.record({ life: steppedWalks, sizes: chunkings }),
    right: deriveFold,
    holds: rebuildsTheSame,
    planted: {
      "the fold has memory outside its state": forgetful(),
      "the definitions have changed after the facts were made": changedSince(),
    },
  }),
];

testLaws(LAWS, seedOf("test/store/facts/rebuild-law"));
