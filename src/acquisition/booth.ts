import type { BoothConfig } from "../config/port.ts";
import type { BoothState, LinkState } from "../domain/booth-state.ts";
import type { Parameters } from "../domain/parameters.ts";
import type { Profile } from "../domain/profile.ts";
import type { Milliseconds } from "../domain/units.ts";
import type { BoothClock } from "./clock.ts";
import type { Intake } from "./intake.ts";
import type { PollWatch } from "./link-booth.ts";
import type { AskOverLink, Driver, PlcPasswords, PolledWords } from "./port.ts";

/** A booth as configured, with what its profile and the box's file make of it. */
export interface BoothSetup {
  readonly config: BoothConfig;
  readonly profile: Profile;
  readonly parameters: Parameters;
  readonly address: string;
  readonly makeDriver: (passwords: PlcPasswords) => Driver;
  /** Booths with the same one share a physical link, one at a time; absent: it has its own. */
  readonly link?: string;
  /** Tools' reads over the booth's link, while nobody else is at work there; absent: it can't be shared. */
  readonly shared?: { readonly unit: number; readonly ask: AskOverLink };
  /** What the booth's polls read last; absent: nobody wants it. */
  readonly polled?: PolledWords;
  /** The longest that the device keeps its link busy when it doesn't answer. */
  readonly probe_ms?: () => Milliseconds;
  /** After a failure the device is left alone for so long, beside the back-off. */
  readonly settle_ms?: () => Milliseconds;
  /** The device closes connections that rest for so long. */
  readonly idle_close_ms?: Milliseconds;
}

/** A booth as its loops poll it and write its log. */
export interface PolledBooth {
  readonly setup: BoothSetup;
  readonly state: BoothState;
  readonly link: LinkState;
  readonly intake: Intake;
  readonly watch: PollWatch;
  readonly clock: BoothClock;
  /** The parameters in force. */
  parameters(): Parameters;
}
