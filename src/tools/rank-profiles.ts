import type { PlcTools } from "../acquisition/port.ts";
import { parseConfig } from "../config/config.ts";
import { ConfigError } from "../config/config-error.ts";
import type { BoothConfig, Config } from "../config/port.ts";
import { findProfile, profileNames } from "../config/profile.ts";
import type { BodyOf } from "../contract/local.ts";
import { adviceFor, LinkError } from "../domain/link-error.ts";
import { plcAddress } from "../domain/plc-address.ts";
import { type Profile, type ProfileTag, tagsOfGroup } from "../domain/profile.ts";
import type { Sample } from "../domain/taken.ts";
import { CommandError, EXIT } from "./command.ts";
import { type ProfileReading, type RankedProfile, rankProfiles } from "./rules/rank.ts";

/** For one profile: most of its reads are refused at once where it doesn't fit. */
const EACH_WITHIN_MS = 15_000;
/** A PLC with one connection has to notice that the last one has gone. */
const PAUSE_MS = 300;

interface Ask {
  readonly tools: PlcTools;
  readonly config: Pick<Config, "data_dir" | "profile_dirs">;
  readonly signal: AbortSignal;
  progress(text: string): void;
}

export interface Ranking {
  readonly address: string;
  readonly profiles: readonly RankedProfile[];
}

/**
 * Reads the PLC once by each profile of its protocol and ranks them. Rejects with a CommandError where the link can't work, or nobody
 * answers there.
 */
export async function rankAt(
  { said, modbus, opcua }: BodyOf<"set_up_rank">,
  ask: Ask,
): Promise<{ readonly answer: Ranking; readonly text: string }> {
  const link = { ...(modbus === undefined ? {} : { modbus }), ...(opcua === undefined ? {} : { opcua }) };
  const protocol = link.opcua === undefined ? "modbus" : "opcua";
  const profiles = known(ask.config.profile_dirs).filter((profile) => profile.protocol === protocol);
  const readings: ProfileReading[] = [];
  try {
    for (const [index, profile] of profiles.entries()) {
      ask.progress(`${profile.name}, ${index + 1} of ${profiles.length}`);
      if (index > 0) await ask.tools.sleep(PAUSE_MS, ask.signal);
      readings.push(await readBy(profile, candidate(profile, link), ask));
    }
  } finally {
    ask.progress("");
  }
  const ranked = rankProfiles(readings, said);
  const [first] = profiles;
  const address = first === undefined ? "" : plcAddress(candidate(first, link));
  const why = readings.find(({ failed }) => failed !== null)?.failed ?? "";
  if (readings.every(({ failed }) => failed !== null)) throw new CommandError(`${address}: ${why}`, EXIT.unavailable);
  return { answer: { address, profiles: ranked }, text: rankingText(ranked) };
}

/** A file of profiles that is wrong can't be chosen. */
function known(dirs: readonly string[]): readonly Profile[] {
  return profileNames(dirs).flatMap((name) => {
    try {
      return [findProfile(name, dirs)];
    } catch (error) {
      if (error instanceof ConfigError) return [];
      throw error;
    }
  });
}

/** A booth as it would be configured. Throws a CommandError for a link that can't be one. */
function candidate(profile: Profile, link: Omit<BodyOf<"set_up_rank">, "said">): BoothConfig {
  const entry = { id: "candidate", profile: profile.name, ...link };
  try {
    const [booth] = parseConfig(JSON.stringify({ booths: [entry] }), "what was entered").booths;
    if (booth !== undefined) return booth;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new CommandError(error.problems.map(({ message }) => message).join("; "), EXIT.usage, error);
  }
  throw new Error("a booth that passed the checks is gone");
}

async function readBy(profile: Profile, booth: BoothConfig, { tools, config, signal }: Ask): Promise<ProfileReading> {
  const driver = tools.driver(booth, profile, { config });
  const within = AbortSignal.any([signal, AbortSignal.timeout(EACH_WITHIN_MS)]);
  const samples: Sample[] = [];
  try {
    await driver.open(within);
    for (const group of Object.keys(profile.groups)) {
      if (tagsOfGroup<ProfileTag>(profile, group).length > 0)
        samples.push(...((await driver.read([group])).get(group) ?? []));
    }
    return { profile, samples, failed: null };
  } catch (error) {
    signal.throwIfAborted();
    // What was read until then counts: a PLC may break off at what it doesn't know.
    return { profile, samples, failed: samples.length > 0 ? null : whyNot(error, plcAddress(booth)) };
  } finally {
    await driver.close();
  }
}

function whyNot(error: unknown, address: string): string {
  if (error instanceof LinkError) return `${error.message}; ${adviceFor(error, address)}`;
  if (error instanceof Error && error.name === "TimeoutError") return "it takes too long";
  throw error;
}

function rankingText(ranked: readonly RankedProfile[]): string {
  return ranked
    .map(({ profile, fit, reasons }) => `  ${profile}  ${Math.round(fit * 100)} %: ${reasons.join("; ")}\n`)
    .join("");
}
