import type { BoothId, EpochMs, Milliseconds } from "./units.ts";

/** What a box lacks before it has anything to do. */
export type Lacking = "service" | "booth";

/** Pure. A booth that is written and wrong isn't one to be set up: it says itself what is wrong. */
export function lackingIn(
  service_url: string | null,
  { booths, disabled }: { readonly booths: readonly unknown[]; readonly disabled: readonly unknown[] },
): readonly Lacking[] {
  return [
    ...(service_url === null ? (["service"] as const) : []),
    ...(booths.length === 0 && disabled.length === 0 ? (["booth"] as const) : []),
  ];
}

/** Who said a value: the operator's file, which wins, or the set-up on the spot. */
export type SaidBy = "file" | "set_up";

export interface BoothEntered {
  readonly booth: BoothId;
  /** By key of its entry: id, profile, modbus or opcua, tz and so on. */
  readonly said_by: Readonly<Record<string, SaidBy>>;
  readonly profile: string;
  readonly address: string;
  readonly tz: string;
}

/** An entry is in force, and goes back to what it was unless the PLC answers in time or somebody says that it stays. */
export interface SetUpTrial {
  readonly booth: BoothId;
  readonly left_ms: Milliseconds;
}

/** How the set-up on the spot stands: the same for page and terminal. */
export interface SetUpStatus {
  /** The operator's file, and the one of the set-up below it. */
  readonly file: string;
  readonly set_up_file: string;
  readonly service: { readonly url: string | null; readonly said_by: SaidBy | null; readonly has_key: boolean };
  readonly booths: readonly BoothEntered[];
  readonly trial: SetUpTrial | null;
  /** The last entry that didn't prove itself; null: none, or another was entered since. */
  readonly taken_back: { readonly booth: string; readonly reason: string; readonly at: EpochMs } | null;
  /** A person's answers so far, whoever goes on with them. */
  readonly draft: Readonly<Record<string, unknown>>;
}
