import type { Parameters } from "../core/types/parameters.ts";
import type { LinkStatus } from "../core/types/status.ts";
import type { Milliseconds } from "../core/types/units.ts";
import type { Clock, Driver, Logger, Random } from "../ports.ts";
import type { Intake } from "./intake.ts";
import type { PollWatch } from "./poll-watch.ts";

export interface LinkTools {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

export interface LinkBoothParts {
  /** The booth as the configuration names it. */
  readonly booth: string;
  readonly address: string;
  readonly groups: Parameters["groups"];
  readonly makeDriver: () => Driver;
  readonly intake: Omit<Intake, "logAnew">;
  /** The group that shows which PLC this is: the first to be read on every connection. */
  readonly identity_group?: string;
  readonly status: () => LinkStatus;
  readonly setStatus: (status: LinkStatus) => void;
  /** Whoever shows polls to people; absent: nobody does. */
  readonly watch?: PollWatch;
  /** After a failure the device is left alone for so long, beside the back-off. */
  readonly settle_ms?: () => Milliseconds;
  /** The device closes connections that rest for so long. */
  readonly idle_close_ms?: Milliseconds;
}
