import type { Text } from "./message.ts";
import type { BoothId, EpochMs, Milliseconds } from "./units.ts";

/** The settings that can be missing before a gateway can work. */
export type Lacking = "service" | "booth";

/** Returns the missing settings. A booth with a wrong configuration isn't counted as missing, because its error is reported separately. */
export function lackingIn(
  service_url: string | null,
  { booths, disabled }: { readonly booths: readonly unknown[]; readonly disabled: readonly unknown[] },
): readonly Lacking[] {
  return [
    ...(service_url === null ? (["service"] as const) : []),
    ...(booths.length === 0 && disabled.length === 0 ? (["booth"] as const) : []),
  ];
}

/** The source of a setting: the operator's file, which takes precedence, or the set-up on the page or terminal. */
export type SaidBy = "file" | "set_up";

export interface BoothEntered {
  readonly booth: BoothId;
  /** Source of each setting, by its key in the booth's entry: id, profile, modbus or opcua, tz and so on. */
  readonly said_by: Readonly<Record<string, SaidBy>>;
  readonly profile: string;
  readonly address: string;
  readonly tz: string;
}

/** An entry on trial. It is reverted unless the PLC answers in time or a person confirms the entry. */
export interface SetUpTrial {
  readonly booth: BoothId;
  readonly left_ms: Milliseconds;
}

/** The state of the set-up, for the page and the terminal. */
export interface SetUpStatus {
  /** Path of the operator's file, and of the set-up's file, which has lower precedence. */
  readonly file: string;
  readonly set_up_file: string;
  readonly service: { readonly url: string | null; readonly said_by: SaidBy | null; readonly has_key: boolean };
  readonly booths: readonly BoothEntered[];
  readonly trial: SetUpTrial | null;
  /** The last entry that was reverted after its trial; null: none, or another entry was made since. */
  readonly taken_back: { readonly booth: string; readonly reason: Text; readonly at: EpochMs } | null;
  /** The answers given so far. Any person can continue the set-up with them. */
  readonly draft: Readonly<Record<string, unknown>>;
}
