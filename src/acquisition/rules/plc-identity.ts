import { normaliseSerial } from "../../domain/serial.ts";
import type { ProvisioningRow } from "../../domain/provisioning.ts";
import type { Profile } from "../../domain/profile.ts";
import type { EventRecord } from "../../domain/record.ts";
import type { Sample } from "../../domain/sample.ts";
import type { Trouble } from "../../domain/status.ts";
import type { Milliseconds, Serial, TagName } from "../../domain/units.ts";

/** Which PLC has been answering, as far as it says so itself. */
export interface PlcIdentity {
  /** The serial number it last showed, as people compare it; null: none could be read yet. */
  readonly shown: Serial | null;
  /** When it was last told of that this is not the booth's; null: it is, or nobody knows. */
  readonly told: Milliseconds | null;
}

export const UNKNOWN_PLC: PlcIdentity = { shown: null, told: null };

/** An incident is resolved when nothing was heard of it for 10 min; while it lasts it is told of twice in that time. */
const TELL_AGAIN_MS = 300_000;

/** The tag and the poll group that show the PLC's serial number; null: nothing in the profile does. */
export function serialTagOf(profile: Profile): { readonly tag: TagName; readonly group: string } | null {
  // A drive or a sensor has a number of its own, which is not the booth's.
  if (profile.kind === "device") return null;
  const found = (profile.tags as readonly Profile["tags"][number][]).find(({ role }) => role === "plc_serial");
  return found === undefined ? null : { tag: found.name, group: found.group };
}

/**
 * The number that this booth's PLC shows. Whoever confirmed the booth saw what the PLC calls itself, and that holds, a controller's
 * own number or the booth's; where it said nothing, the booth's serial number. null: nobody has confirmed a booth yet.
 */
export function expectedSerial(
  row: Pick<ProvisioningRow, "serial" | "confirmed">,
  configured: Serial | null,
): Serial | null {
  if (row.serial === null) return configured;
  return row.confirmed === null ? null : (row.confirmed.plc_serial ?? row.serial);
}

export interface Shown {
  readonly mono: Milliseconds;
  readonly samples: readonly Sample[];
  readonly tag: TagName;
  /** The booth's; null: nobody has entered it yet. */
  readonly expected: Serial | null;
}

/**
 * Whether a poll comes from the booth's own PLC. Another serial number than the booth's makes it foreign until the
 * booth's own is read again. A serial number that can't be read, or is empty, proves nothing and changes nothing: a PLC
 * that starts shows NULs for a moment, and one that never shows any would leave its booth without data.
 * @returns foreign: what to tell people, null where the poll counts; event: the record to log now, null: none
 */
export function identityIn(
  before: PlcIdentity,
  { mono, samples, tag, expected }: Shown,
): { readonly state: PlcIdentity; readonly foreign: Trouble | null; readonly event: EventRecord["value"] | null } {
  const shown = serialIn(samples, tag) ?? before.shown;
  if (shown === null || expected === null || shown === compared(expected)) {
    const same = shown === before.shown && before.told === null;
    return { state: same ? before : { shown, told: null }, foreign: null, event: null };
  }
  const foreign = foreignTrouble(shown, expected);
  const isTold = before.told !== null && shown === before.shown && mono - before.told < TELL_AGAIN_MS;
  const event = isTold ? null : { event: "identity", detail: foreign.reason, tag };
  return { state: isTold ? before : { shown, told: mono }, foreign, event };
}

function foreignTrouble(shown: Serial, expected: Serial): Trouble {
  return {
    reason: `the PLC shows serial number ${shown}, this booth is ${expected}: what it says is not counted for this booth`,
    advice:
      "check that cable and address lead to this booth's own PLC; if they do, confirm the booth again (booth-gateway provision), or correct the number in the PLC",
  };
}

function serialIn(samples: readonly Sample[], tag: TagName): Serial | null {
  const sample = samples.find((one) => one.tag === tag);
  if (sample === undefined || sample.quality === "bad" || sample.value === null) return null;
  const text = compared(String(sample.value).replaceAll("\0", ""));
  return text === "" ? null : text;
}

/** As it is compared: what can't be a serial number is taken as it stands. */
function compared(text: string): Serial {
  return normaliseSerial(text) ?? text.trim().toUpperCase();
}
