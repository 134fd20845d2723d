import { parametersOf } from "../core/parameters.ts";
import type { BoothConfig } from "../core/types/config.ts";
import type { Profile } from "../core/types/profile.ts";
import type { EpochMs } from "../core/types/units.ts";
import type { Driver, Logger, PlcPasswords } from "../ports.ts";
import { opcuaDriver } from "./opcua/driver.ts";
import type { OpcuaPki } from "./opcua/pki.ts";
import { refusingDriver } from "./refusing.ts";

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
    const paced = { ...profile, groups: parametersOf(profile, booth).groups };
    return opcuaDriver({ address: booth.opcua, profile: paced, ...parts });
  }
  const given = booth.modbus === undefined ? "opcua" : "modbus";
  return refusingDriver(`the profile ${profile.name} is for ${profile.protocol}, the booth's link is ${given}`);
}
