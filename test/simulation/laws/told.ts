import type { Given } from "../outputs/plant.ts";

/** A reading as it came at the broker. `is_history`: it was marked so; null: the kind has no such mark. */
export interface ToldReading {
  readonly at: number;
  readonly session: number;
  /** Tag, time and value, as `keyOf` returns them. */
  readonly key: string;
  readonly is_history: boolean | null;
  /** True instant of the birth before it; null: the kind has none. */
  readonly born_at: number | null;
}

export function keyOf({ tag, time, value }: Pick<Given, "tag" | "time" | "value">): string {
  return `${tag} ${time} ${value}`;
}
