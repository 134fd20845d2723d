import type { PlcTools } from "../acquisition/port.ts";
import { parseConfig } from "../config/config.ts";
import { ConfigError } from "../config/config-error.ts";
import type { BoothConfig, Config } from "../config/port.ts";
import { findProfile, profileNames } from "../config/profile.ts";
import type { BodyOf } from "../contract/local.ts";
import { adviceFor, LinkError } from "../domain/link-error.ts";
import { message, type Text } from "../domain/message.ts";
import { render } from "../domain/messages/render.ts";
import { plcAddress } from "../domain/plc-address.ts";
import type { Profile } from "../domain/profile.ts";
import type { Sample } from "../domain/taken.ts";
import { CommandError, EXIT, type Io } from "./command.ts";
import { polledGroups } from "./plc-tools.ts";
import { joinedTexts } from "./texts.ts";
import { type ProfileReading, type RankedProfile, rankProfiles } from "./rules/rank.ts";

/** The time limit of reading by one profile. If a profile doesn't fit, the PLC refuses most reads at once. */
const EACH_WITHIN_MS = 15_000;
/** The pause between profiles: a PLC with a single connection needs time to notice that the last connection was closed. */
const PAUSE_MS = 300;

interface Ask extends Pick<Io, "signal" | "progress"> {
  readonly tools: PlcTools;
  readonly config: Pick<Config, "data_dir" | "profile_dirs">;
}

export interface Ranking {
  readonly address: string;
  readonly profiles: readonly RankedProfile[];
}

/**
 * Reads the PLC once with each profile of its protocol and ranks the profiles. Rejects with a CommandError if the link is invalid or the
 * PLC does not answer.
 */
export async function rankAt(
  { said, modbus, opcua }: BodyOf<"set_up_rank">,
  ask: Ask,
): Promise<{ readonly answer: Ranking; readonly text: string }> {
  const link = { modbus, opcua };
  const protocol = opcua === undefined ? "modbus" : "opcua";
  const profiles = knownProfiles(ask.config.profile_dirs).filter((profile) => profile.protocol === protocol);
  const readings: ProfileReading[] = [];
  let address = "";
  try {
    for (const [index, profile] of profiles.entries()) {
      const step = message("rank.step", { profile: profile.name, number: index + 1, of: profiles.length });
      ask.progress(step, index / profiles.length);
      if (index > 0) await ask.tools.sleep(PAUSE_MS, ask.signal);
      const booth = candidate(profile, link);
      address = plcAddress(booth);
      readings.push(await readBy(profile, booth, ask));
    }
  } finally {
    ask.progress("");
  }
  const failures = readings.flatMap(({ failed }) => failed ?? []);
  if (failures.length === readings.length)
    throw new CommandError(message("text.at", { place: address, text: failures[0] ?? "" }), EXIT.unavailable);
  const ranked = rankProfiles(readings, said);
  const lines = ranked.map(
    ({ profile, fit, reasons }) => `  ${profile}  ${Math.round(fit * 100)} %: ${render(joinedTexts(reasons))}\n`,
  );
  return { answer: { address, profiles: ranked }, text: lines.join("") };
}

/** Returns all valid profiles. */
function knownProfiles(dirs: readonly string[]): readonly Profile[] {
  return profileNames(dirs).flatMap((name) => {
    try {
      return [findProfile(name, dirs)];
    } catch (error) {
      if (error instanceof ConfigError) return [];
      throw error;
    }
  });
}

/** Returns the booth as the set-up would configure it. Throws a CommandError for an invalid link. */
function candidate(profile: Profile, link: Omit<BodyOf<"set_up_rank">, "said">): BoothConfig {
  const entry = { id: "candidate", profile: profile.name, ...link };
  try {
    const [booth] = parseConfig(JSON.stringify({ booths: [entry] }), "what was entered").booths;
    if (booth !== undefined) return booth;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    throw new CommandError(joinedTexts(error.problems.map((problem) => problem.message)), EXIT.usage, error);
  }
  throw new Error("a booth that passed the checks is gone");
}

async function readBy(profile: Profile, booth: BoothConfig, { tools, config, signal }: Ask): Promise<ProfileReading> {
  const driver = tools.driver(booth, profile, { config });
  const samples: Sample[] = [];
  try {
    await driver.open(AbortSignal.any([signal, AbortSignal.timeout(EACH_WITHIN_MS)]));
    for (const [group] of polledGroups({ profile })) samples.push(...((await driver.read([group])).get(group) ?? []));
    return { profile, samples, failed: null };
  } catch (error) {
    signal.throwIfAborted();
    // Keeps the samples from before the failure: a PLC may close the connection at an address that it doesn't know.
    return { profile, samples, failed: samples.length > 0 ? null : failureText(error, plcAddress(booth)) };
  } finally {
    await driver.close();
  }
}

function failureText(error: unknown, address: string): Text {
  if (error instanceof LinkError) return message("text.todo", { text: error.text, todo: adviceFor(error, address) });
  if (error instanceof Error && error.name === "TimeoutError") return message("rank.too_long");
  throw error;
}
