import type { BoothConfig } from "../config/port.ts";
import { groupsInForce, type Profile } from "../domain/profile.ts";
import type { EpochMs } from "../domain/units.ts";
import type { Driver, PlcPasswords } from "./port.ts";
import type { Logger } from "../domain/machine.ts";
import { opcuaDriver } from "./opcua/driver.ts";
import type { OpcuaPki } from "./opcua/pki.ts";
import { LinkError } from "../domain/link-error.ts";

export interface OwnLinkParts {
  readonly booth: BoothConfig;
  readonly profile: Profile;
  readonly pki: OpcuaPki;
  readonly wall: () => EpochMs;
  readonly log: Logger;
  /** Of a user whose password no file holds; absent: none is known. */
  readonly passwords?: PlcPasswords;
}

/** A booth's driver where it shares its link with no other: OPC UA, or one that says why there can't be any. */
export function ownLinkDriver({ booth, profile, ...parts }: OwnLinkParts): Driver {
  if (booth.opcua !== undefined && profile.protocol === "opcua") {
    // The session's life and the sampling follow the intervals in force, not the profile's own.
    const paced = { ...profile, groups: groupsInForce(profile, booth) };
    return opcuaDriver({ address: booth.opcua, profile: paced, ...parts });
  }
  const given = booth.modbus === undefined ? "opcua" : "modbus";
  return refusingDriver(`the profile ${profile.name} is for ${profile.protocol}, the booth's link is ${given}`);
}

/** For a booth whose configuration can't work: every try to open says why. */
export function refusingDriver(reason: string): Driver {
  const refuse = (): Promise<never> => Promise.reject(new LinkError("config", reason));
  return { open: refuse, read: refuse, close: () => Promise.resolve() };
}
