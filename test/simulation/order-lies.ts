import type { Dice } from "../scenarios/random.ts";
import { SERIAL } from "../support/virtual-service.ts";
import { HOUR_MS } from "../../src/domain/time.ts";

/** Invalid commands on down/cmd. A valid command is the service's right, even if it is a mistake. */
export const ORDER_LIES = ["orders"] as const;
const OTHER_SERIAL = "ZZZZ-999-999";

/** Returns the commands, each with its own id. */
export function lyingOrders(now: number, dice: Dice): readonly unknown[] {
  const expires_at = now + HOUR_MS;
  const all: readonly unknown[] = [
    { type: "backfill", args: { serial: SERIAL, stream_id: "another-stream", ranges: [[1, 1e12]] } },
    { type: "backfill", args: { serial: SERIAL, stream_id: "another-stream", ranges: [[9, 3]] } },
    { type: "digest", args: { serial: SERIAL, start: 0, end: 4e15 } },
    { type: "digest", args: { serial: SERIAL, start: now + 1e12, end: now + 1e12 + HOUR_MS } },
    { type: "config_changed", args: { serial: SERIAL, revision: 1e9 } },
    { type: "release", args: { serial: OTHER_SERIAL } },
    { type: "reassign", args: { serial: OTHER_SERIAL, to_serial: SERIAL, wrong_serial: true } },
    { type: "format_disk", args: {} },
    { type: "release", args: { serial: SERIAL, to: "nowhere" } },
    { type: "digest", args: [] },
  ];
  return all.map((order, i) => ({
    id: `lie-${now}-${i}`,
    expires_at: dice.one([expires_at, expires_at, 0, 4e15]),
    ...(order as object),
  }));
}
