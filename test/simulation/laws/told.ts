import type { Given } from "../outputs/plant.ts";

/**
 * A reading as it arrived at the broker. `is_history`: it was marked as history; null: the protocol has no such mark.
 */
export interface ToldReading {
  readonly at: number;
  readonly session: number;
  /** Tag, time and value, as `keyOf` returns them. */
  readonly key: string;
  readonly is_history: boolean | null;
  /** True instant of the previous birth; null: the protocol has no births. */
  readonly born_at: number | null;
}

export function keyOf({ tag, time, value }: Pick<Given, "tag" | "time" | "value">): string {
  return `${tag} ${time} ${value}`;
}
