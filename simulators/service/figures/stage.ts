import type { Mode } from "../../../src/domain/booth.ts";

/** A maximal interval in one mode. */
export interface Stage {
  readonly mode: Mode;
  readonly start: number;
  readonly end: number;
  /** False after no_data into the mode that stood before it. */
  readonly is_new_start: boolean;
  /** The PLC had restarted when it began. */
  readonly after_restart: boolean;
  /** Time inside that was inferred over a gap longer than the bridge. */
  readonly uncertain_ms: number;
}
