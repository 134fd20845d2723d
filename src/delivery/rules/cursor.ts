import type { Seq } from "../../domain/units.ts";

/** Ranges that the service has acked beyond the cursor, because an earlier batch's ack is still to come. */
export interface Cursor {
  readonly acked_seq: Seq;
  readonly ahead: readonly (readonly [from: Seq, to: Seq])[];
}

export function cursorAt(acked_seq: Seq): Cursor {
  return { acked_seq, ahead: [] };
}

/** Takes an acked range in; the cursor moves over everything unbroken. A range at or below the cursor changes nothing. */
export function withAcked(cursor: Cursor, from: Seq, to: Seq): Cursor {
  let acked_seq = cursor.acked_seq;
  const ahead: (readonly [Seq, Seq])[] = [];
  for (const range of [...cursor.ahead, [from, to] as const].sort((a, b) => a[0] - b[0])) {
    if (range[0] <= acked_seq + 1) acked_seq = Math.max(acked_seq, range[1]);
    else ahead.push(range);
  }
  return { acked_seq, ahead };
}
