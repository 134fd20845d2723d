import type { Milliseconds } from "../domain/units.ts";
import type { DeriveState } from "./state.ts";
import { WRONG_MS } from "./taken-back.ts";

const HOUR_MS: Milliseconds = 3_600_000;

/**
 * A state that was kept while the time was wrong, where no older one is left: every instant in it that lies behind the right time, of which
 * nothing can be known yet, is put back by as much as the time is wrong. What isn't an instant is far smaller.
 * @param right mono + this is the right time of the state's boot
 */
export function putBack(state: DeriveState, right: Milliseconds): DeriveState {
  const limit = state.clock.mono + right;
  const by = state.clock.now - limit;
  if (by <= WRONG_MS) return state;
  const moved = JSON.parse(JSON.stringify(state), (_, value: unknown) =>
    typeof value === "number" && value > limit ? value - by : value,
  ) as DeriveState;
  moved.clock.offset = right;
  moved.hours = Object.fromEntries(Object.entries(state.hours).filter(([hour]) => Number(hour) <= limit));
  const hour = Math.floor(limit / HOUR_MS) * HOUR_MS;
  if (moved.hour_next !== null) moved.hour_next = Math.min(state.hour_next ?? hour, hour);
  return moved;
}
