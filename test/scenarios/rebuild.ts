import type { Fact, Stored } from "../../src/core/types/record.ts";
import { emptyState } from "../../src/core/derive/state.ts";
import { step } from "../../src/core/derive/fold.ts";
import type { Source } from "../../src/report/source.ts";

const KINDS = ["m", "c", "v", "d", "i", "f"] as const;

/** Kinds of facts, and "state", that a fold of the whole log from its first record on has otherwise than the store. */
export function rebuildDiffers({ reader, stream }: Source): string[] {
  const state = emptyState();
  const rebuilt: Stored<Fact>[] = [];
  let seq = 0;
  for (const record of reader.log(stream, { start: -Infinity, end: Infinity })) {
    const { facts } = step(state, record);
    seq = record.seq;
    for (const fact of facts) rebuilt.push({ ...fact, seq: ++seq });
  }
  const differing = KINDS.filter((kind) => {
    const stored = reader.facts(stream, kind, { start: -Infinity, end: Infinity });
    const plain = stored.map(({ seq: at, value }) => JSON.stringify([at, value])).toSorted();
    const again = rebuilt.filter((fact) => fact.kind === kind).map(({ seq: at, value }) => JSON.stringify([at, value]));
    return JSON.stringify(plain) !== JSON.stringify(again.toSorted());
  });
  const same = JSON.stringify(reader.state(stream)) === JSON.stringify(state);
  return same ? differing : [...differing, "state"];
}
