import { FIELD_KINDS, type FieldCounts } from "../story.ts";

/** The state of the field's faults that the laws need. */
export interface FieldState {
  /** Faults under way that keep every time source away. */
  timeless: number;
  /** True instants between which no clock was confirmed; `to` is null while it lasts. */
  readonly unconfirmed: { readonly from: number; to: number | null }[];
  /** True instants between which the PLC closed its connections, and the polls that lacked tags meanwhile. */
  readonly closing: { readonly from: number; to: number | null; lacking: number }[];
  /** Tags that hold a wrong type, with the true instant since when. */
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

/** Returns the counts of all kinds, each as `count` says. */
export function fieldCounts(count: (kind: keyof FieldCounts) => number): FieldCounts {
  return Object.fromEntries(FIELD_KINDS.map((kind) => [kind, count(kind)])) as Record<keyof FieldCounts, number>;
}
