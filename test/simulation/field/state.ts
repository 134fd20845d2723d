import type { FieldCounts } from "../story.ts";

/** What the laws need to know of the field's faults. */
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

/** How often each kind of fault struck. */
export function countsOf({ struck }: FieldState): FieldCounts {
  const count = (kind: keyof FieldCounts): number => struck.get(kind) ?? 0;
  return {
    no_time: count("no_time"),
    wrong_type: count("wrong_type"),
    plc_closes: count("plc_closes"),
    service_closes: count("service_closes"),
    output_closes: count("output_closes"),
    fatal: count("fatal"),
    foreign: count("foreign"),
  };
}
