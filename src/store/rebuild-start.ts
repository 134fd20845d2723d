import type { Seq, StreamId } from "../core/types/units.ts";
import type { Base, Bases } from "./bases.ts";
import type { Fold } from "./fold-port.ts";
import type { Statements } from "./statements.ts";

interface StartTools {
  readonly sql: Pick<Statements, "bootPlaces" | "bootsAfter">;
  readonly fold: Fold;
  readonly bases: Bases;
}

/**
 * Where folding the kept log again begins: before the first record, or, once that is gone, with the first kept state after
 * which nothing is missing. It knows the places in time of the boots to come. Throws where there is no such state.
 */
export function startOf({ sql, fold, bases }: StartTools, stream: StreamId, oldest: Seq): Pick<Base, "seq" | "state"> {
  const placed = sql.bootPlaces.all(stream).map(({ boot, offset_ms, uncertain }) => ({
    boot,
    offset: offset_ms,
    uncertain: uncertain === 1,
  }));
  if (oldest <= 1) return { seq: 0, state: fold.place(fold.empty(), placed) };
  const base = bases.first(stream, oldest, (state) => fold.accepts(state));
  if (base === undefined) {
    throw new Error(`the log begins at ${oldest.toString()} and no state is kept from there: it can't be rebuilt`);
  }
  const { boot: present } = fold.knownTime(base.state);
  const toCome = new Set(sql.bootsAfter.all({ stream, seq: base.seq }).map(({ boot }) => boot));
  const places = placed.filter(({ boot }) => boot !== present && toCome.has(boot));
  return { seq: base.seq, state: fold.place(base.state, places) };
}
