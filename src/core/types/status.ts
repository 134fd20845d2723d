import type { FilterType, Mode } from "./booth.ts";
import type { ProvisioningState } from "./provisioning.ts";
import type { BoothId, EpochMs, Milliseconds, Seq, Serial, StreamId } from "./units.ts";

/** A connection as people are told of it. */
export type LinkStatus =
  | { readonly kind: "up"; readonly since: EpochMs }
  | {
      readonly kind: "down";
      readonly since: EpochMs;
      readonly reason: string;
      readonly advice: string;
      /** Failed tries since it went down. */
      readonly attempt: number;
      readonly next_try_at: EpochMs | null;
    };

export interface FilterStatus {
  /** null: nothing is known of its use. */
  readonly minutes: number | null;
  readonly limit_minutes: number | null;
  readonly percent: number | null;
  readonly overuse_since: EpochMs | null;
}

/** What derivation says of a booth at this moment. */
export interface BoothSummary {
  readonly mode: Mode;
  readonly since: EpochMs | null;
  /** The PLC's own mode value. */
  readonly raw: string;
  readonly in_gap: boolean;
  readonly last_good_at: EpochMs | null;
  readonly cycles_today: number;
  readonly cycles_total: number;
  readonly run_open: boolean;
  readonly filters: Readonly<Partial<Record<FilterType, FilterStatus>>>;
  readonly firmware_version: string | null;
  readonly last_firmware_update: EpochMs | null;
  readonly plc_program: string | null;
  readonly plc_program_revision: string | null;
  readonly last_program_update: EpochMs | null;
  readonly last_active_mode: Mode | null;
  readonly plc_serial: string | null;
}

export interface BoothStatus {
  readonly booth: BoothId;
  readonly serial: Serial | null;
  readonly stream: StreamId;
  readonly provisioning: {
    readonly state: ProvisioningState;
    readonly since: EpochMs;
    readonly generation: number | null;
    readonly booth_id: string | null;
    readonly account: string | null;
    readonly facility: string | null;
    readonly reason: string;
    readonly advice: string;
  };
  readonly plc: LinkStatus & { readonly address: string };
  readonly now: BoothSummary | null;
  readonly log: {
    readonly taken: number;
    readonly newest_seq: Seq;
    readonly acked_seq: Seq;
    /** Taken, and in no commit yet. */
    readonly pending: number;
    readonly last_commit_at: EpochMs | null;
    readonly commit_ms: Milliseconds | null;
    /** Why the last commit failed; "" when it didn't. */
    readonly trouble: string;
  };
}

/** `booth-gateway status --json`: everything, without a secret. */
export interface AgentStatus {
  readonly agent_version: string;
  readonly gateway_id: string;
  readonly at: EpochMs;
  readonly started_at: EpochMs;
  readonly boot: string;
  readonly service: LinkStatus & { readonly url: string };
  readonly booths: readonly BoothStatus[];
  /** Readings of the last `loss_window_ms` at most are lost at a power cut; none at a crash. */
  readonly loss_window_ms: Milliseconds;
}
