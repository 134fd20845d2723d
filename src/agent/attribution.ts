import { identityIn, UNKNOWN_PLC } from "../core/plc-identity.ts";
import type { EventRecord } from "../core/types/record.ts";
import type { Sample } from "../core/types/sample.ts";
import type { Trouble } from "../core/types/status.ts";
import type { Serial, TagName } from "../core/types/units.ts";
import type { Clock } from "../ports.ts";

export interface IdentityParts {
  /** The tag that shows the PLC's serial number. */
  readonly tag: TagName;
  /** The booth's own; null: not entered yet. */
  readonly expected: () => Serial | null;
  /** Told of the one that the PLC shows. */
  readonly shown: (serial: Serial | null) => void;
}

/** Says of each poll why it isn't the booth's own, null: it is; `tell` gets what the log has to hold of that. */
export function attribution(
  clock: Clock,
  identity: IdentityParts | null,
  tell: (event: EventRecord["value"]) => void,
): (samples: readonly Sample[]) => Trouble | null {
  let plc = UNKNOWN_PLC;
  return (samples) => {
    if (identity === null) return null;
    const { tag, expected, shown } = identity;
    const looked = identityIn(plc, { mono: clock.mono(), samples, tag, expected: expected() });
    plc = looked.state;
    shown(plc.shown);
    if (looked.event !== null) tell(looked.event);
    return looked.foreign;
  };
}
