import type { Seq, StreamId } from "../../domain/units.ts";
import type { Snapshot, Snapshots } from "./snapshots.ts";
import type { Fold } from "./fold-port.ts";
import type { Statements } from "../log/statements.ts";

export interface StartTools {
  readonly sql: Pick<Statements, "bootPlaces" | "bootsAfter">;
  readonly fold: Fold;
}

/** A state, and the seq of the record after which it stands. */
export type Start = Pick<Snapshot, "seq" | "state">;

/**
 * Where folding the kept log again begins: before the first record, or, once that is gone, with the first kept state after
 * which nothing is missing. Throws where there is no such state.
 */
export function startOf(
  tools: StartTools & { readonly bases: Pick<Snapshots, "first"> },
  stream: StreamId,
  oldest: Seq,
): Start {
  if (oldest <= 1) return startWith(tools, stream, undefined);
  const base = tools.bases.first(stream, oldest, (state) => tools.fold.accepts(state));
  if (base === undefined) {
    throw new Error(`the log begins at ${oldest.toString()} and no state is kept from there: it can't be rebuilt`);
  }
  return startWith(tools, stream, base);
}

/** Where the latest state can be made anew from: what was kept last, though records after it may be gone, or the log's begin. */
export function lastStart(
  tools: StartTools & { readonly bases: Pick<Snapshots, "last"> },
  stream: StreamId,
  oldest: Seq,
): Start {
  const base = tools.bases.last(stream, (state) => tools.fold.accepts(state));
  const { seq, state } = startWith(tools, stream, base);
  // Who begins with nothing has nothing to forget.
  return { seq, state: base !== undefined && seq + 1 < oldest ? tools.fold.forget(state) : state };
}

/** It knows the places in time of the boots to come. */
function startWith({ sql, fold }: StartTools, stream: StreamId, base: Snapshot | undefined): Start {
  const placed = sql.bootPlaces.all(stream).map(({ boot, offset_ms, uncertain }) => ({
    boot,
    offset: offset_ms,
    uncertain: uncertain === 1,
  }));
  if (base === undefined) return { seq: 0, state: fold.place(fold.empty(), placed) };
  const { boot: present } = fold.knownTime(base.state);
  const toCome = new Set(sql.bootsAfter.all({ stream, seq: base.seq }).map(({ boot }) => boot));
  const places = placed.filter(({ boot }) => boot !== present && toCome.has(boot));
  return { seq: base.seq, state: fold.place(base.state, places) };
}
