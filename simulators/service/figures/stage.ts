import type { Mode } from "../../../src/domain/booth.ts";

/** A maximal interval in one mode. */
export interface Stage {
  readonly mode: Mode;
  readonly start: number;
  readonly end: number;
  /** False if the mode after no_data is the mode before it. */
  readonly is_new_start: boolean;
  /** The PLC restarted at its start. */
  readonly after_restart: boolean;
  /** Time in it that was inferred over a gap longer than the bridge. */
  readonly uncertain_ms: number;
}
