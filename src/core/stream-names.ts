import type { Seq, StreamId } from "./types/units.ts";

/** From which seq on the service knows a stream's records under another name. */
export interface StreamName {
  readonly from_seq: Seq;
  readonly name: StreamId;
}

/** A range of a stream under one name. */
export interface NamedPart {
  readonly name: StreamId;
  readonly from_seq: Seq;
  /** null: the part that grows. */
  readonly to_seq: Seq | null;
  readonly predecessor: { readonly stream: StreamId; readonly last_seq: Seq } | null;
}

/** The parts in seq order; the last is the one that grows. Without names it is the stream itself, whole. */
export function namedParts(stream: StreamId, names: readonly StreamName[]): readonly NamedPart[] {
  const starts = [{ from_seq: 1, name: stream }, ...names];
  return starts
    .map(({ from_seq, name }, index): NamedPart => {
      const before = starts[index - 1];
      const next = starts[index + 1];
      return {
        name,
        from_seq,
        to_seq: next === undefined ? null : next.from_seq - 1,
        predecessor: before === undefined ? null : { stream: before.name, last_seq: from_seq - 1 },
      };
    })
    .filter(({ from_seq, to_seq }) => to_seq === null || to_seq >= from_seq);
}

/** The part that a seq belongs to. */
export function partAt(parts: readonly NamedPart[], seq: Seq): NamedPart {
  const part = parts.findLast(({ from_seq }) => from_seq <= seq) ?? parts[0];
  if (part === undefined) throw new Error("a stream has at least one name");
  return part;
}
