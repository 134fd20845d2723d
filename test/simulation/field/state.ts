import { FIELD_KINDS, type FieldCounts } from "../story.ts";

/** The state of the field faults that the laws need. */
export interface FieldState {
  /** Number of active faults that block every time source. */
  timeless: number;
  /** Spans of true time in which no clock was confirmed. `to` is null while the span lasts. */
  readonly unconfirmed: { readonly from: number; to: number | null }[];
  /** Spans of true time in which the PLC closed its connections, with the number of polls that lacked tags. */
  readonly closing: { readonly from: number; to: number | null; lacking: number }[];
  /** Tags that have a value of a wrong type, with the true instant of the first one. */
  readonly wrong: Map<string, number>;
  /** How often each kind of fault struck. */
  readonly struck: Map<string, number>;
}

export function noFieldState(): FieldState {
  return { timeless: 0, unconfirmed: [], closing: [], wrong: new Map(), struck: new Map() };
}

/** Returns how often each kind of fault struck. */
export function countsOf({ struck }: FieldState): FieldCounts {
  return fieldCounts((kind) => struck.get(kind) ?? 0);
}

/** Returns the counts of all kinds from `count`. */
export function fieldCounts(count: (kind: keyof FieldCounts) => number): FieldCounts {
  return Object.fromEntries(FIELD_KINDS.map((kind) => [kind, count(kind)])) as Record<keyof FieldCounts, number>;
}
