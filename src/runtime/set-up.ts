import { message, type Text } from "../domain/message.ts";
import { join } from "node:path";
import { Refusal, type SetUpOnSpot } from "../api/operation.ts";
import { ConfigError } from "../config/config-error.ts";
import { serviceUrlFault } from "../config/urls.ts";
import {
  type BoothEntry,
  NOTHING_SET_UP,
  operatorSays,
  readSetUp,
  SET_UP_FILE,
  type SetUp,
  withEntry,
  writeSetUp,
} from "../config/set-up.ts";
import { fileProblems } from "../config/file-checks.ts";
import { inspectText } from "../config/usable.ts";
import { readSource } from "../config/yaml-source.ts";
import type { Clock, Logger } from "../domain/machine.ts";
import { plcAddress } from "../domain/plc-address.ts";
import type { BoothEntered, SaidBy, SetUpStatus } from "../domain/set-up.ts";
import { createSignal, isOver } from "../domain/signal.ts";
import type { AgentStatus, LinkStatus } from "../domain/status.ts";
import type { EpochMs, Milliseconds } from "../domain/units.ts";
import { errorMessage } from "../domain/error-message.ts";
import { createQueue } from "./parts.ts";
import type { PlcLogins } from "./plc-links.ts";

/** Time limit of a trial. A reachable PLC answers in seconds, so after this time the address counts as wrong. */
const PROVE_WITHIN_MS: Milliseconds = 120_000;
const JUDGE_EVERY_MS: Milliseconds = 500;

interface SetUpMachine {
  /** The operator's configuration file. */
  readonly file: string;
  readonly data_dir: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly status: () => AgentStatus;
  readonly has_key: () => Promise<boolean>;
  readonly logins: Pick<PlcLogins, "give">;
  /** Applies the stored set-up. Resolves once the agent runs with it. */
  readonly change: () => Promise<void>;
}

/**
 * The set-up on the spot: service, booths and logins that a person enters on the page or with `booth-gateway setup`.
 *
 * A booth's entry is on trial first. It is stored together with the entry that it replaces, and applied. It is kept if the PLC is read
 * within two minutes, or if a person confirms it. Otherwise the previous entry is restored. After a power cut during the trial, the next
 * start finds the trial in the file and restores the previous entry. There is one trial at a time, and all changes run one after the other.
 *
 * `run` watches the trial until aborted. It never rejects.
 */
export function createSetUp(
  machine: SetUpMachine,
): SetUpOnSpot & { readonly run: (signal: AbortSignal) => Promise<void> } {
  const { file, data_dir, clock, log } = machine;
  const trial = createTrial(machine);
  const queue = createQueue();
  return {
    async status() {
      const values = storedSetUp(data_dir);
      const { taken_back, draft } = values;
      const { service, booths } = entered(file, values);
      return {
        file,
        set_up_file: join(data_dir, SET_UP_FILE),
        service: { ...service, has_key: await machine.has_key() },
        booths,
        draft,
        taken_back,
        trial: values.trial === null ? null : { booth: values.trial.booth, left_ms: trial.left_ms() },
      };
    },
    tryEntry: (entry) => queue(() => trial.begin(entry)),
    keep: () => queue(() => trial.keep("somebody said so")),
    takeBack: () => queue(() => trial.takeBack(message("trial.somebody"))),
    giveLogin: (login) => queue(() => machine.logins.give(login)),
    setService: (url) => queue(() => setService(machine, url)),
    saveDraft: (draft) => queue(() => writeSetUp(data_dir, { ...storedSetUp(data_dir), draft })),
    async run(signal) {
      let reported = "";
      while (!isOver(signal)) {
        if (!trial.isOn()) await trial.begun.wait(signal).catch(() => undefined);
        // Reports an error of the disk. The entry then stays on trial, and the next start reverts it.
        const trouble = await queue(trial.judge).then(() => "", String);
        if (trouble !== "" && trouble !== reported && !isOver(signal)) {
          log.warn({ event: "set_up_trouble", reason: trouble }, `what is tried can't be settled: ${trouble}`);
        }
        reported = trouble;
        await clock.sleep(JUDGE_EVERY_MS, signal).catch(() => undefined);
      }
    },
  };
}

/** Manages the trial of an entry, with its deadline. */
function createTrial({ file, data_dir, clock, log, status, change }: SetUpMachine) {
  let until: number | null = null;
  const begun = createSignal(clock);
  const keep = (why: string): void => {
    const values = readSetUp(data_dir);
    until = null;
    if (values.trial === null) return;
    // Deletes the draft of an entry that is kept.
    writeSetUp(data_dir, { ...values, trial: null, draft: {} });
    const { booth } = values.trial;
    log.info({ event: "set_up_kept", booth }, `${booth}: its new settings stay: ${why}`);
  };
  const takeBack = async (reason: Text): Promise<void> => {
    until = null;
    if (takenBack(data_dir, { reason, at: clock.wall(), log })) await change();
  };
  return {
    keep,
    takeBack,
    begun,
    isOn: () => until !== null,
    left_ms: () => (until === null ? 0 : Math.max(0, until - clock.mono())),
    async begin(entry: BoothEntry): Promise<void> {
      const values = storedSetUp(data_dir);
      if (values.trial !== null) throw new Refusal(409, message("ask.on_trial"));
      const before = values.booths.find(({ id }) => id === entry.id) ?? null;
      const next = { ...withEntry(values, entry.id, replacing(before, entry)), taken_back: null };
      mustWork(file, next, entry);
      writeSetUp(data_dir, { ...next, trial: { booth: entry.id, before } });
      const text = `${entry.id}: new settings are tried; they stay when the PLC answers`;
      log.info({ event: "set_up_tried", booth: entry.id }, text);
      await change().catch((error: unknown) => {
        const reason = errorMessage(error);
        takenBack(data_dir, { reason, at: clock.wall(), log });
        throw new Refusal(503, reason);
      });
      until = clock.mono() + PROVE_WITHIN_MS;
      begun.raise();
    },
    judge: async (): Promise<void> => {
      const trial = until === null ? null : readSetUp(data_dir).trial;
      if (trial === null || until === null) return;
      const plc = status().booths.find(({ booth }) => booth === trial.booth)?.plc;
      if (plc?.kind === "up") keep("the PLC answers");
      else if (clock.mono() >= until) await takeBack(unproven(plc));
    },
  };
}

/** Merges an entry into the previous one. A new link replaces the old link, even if its protocol differs. */
function replacing(before: BoothEntry | null, entry: BoothEntry): BoothEntry {
  const hasLink = entry["modbus"] !== undefined || entry["opcua"] !== undefined;
  if (!hasLink) return { ...before, ...entry };
  const { modbus: _modbus, opcua: _opcua, ...rest } = before ?? { id: entry.id };
  return { ...rest, ...entry };
}

/**
 * Stores the service's address and applies it. Rejects with a Refusal if the address is not usable, or if the operator's file contains one.
 */
async function setService({ file, data_dir, log, status, change }: SetUpMachine, url: string): Promise<void> {
  const fault = serviceUrlFault(url);
  if (fault !== null) throw new Refusal(400, message("text.at", { place: "service.url", text: fault }));
  if (operatorSays(readSource(file), file, ["service", "url"])) throw fixed("the service's address", file);
  if (status().booths.some(({ provisioning }) => provisioning.generation !== null)) {
    throw new Refusal(409, message("ask.bound_service"));
  }
  writeSetUp(data_dir, { ...storedSetUp(data_dir), service: { url } });
  log.info({ event: "set_up_service", url }, `the service is at ${url} from now on: entered on the spot`);
  await change();
}

function unproven(plc: (LinkStatus & { readonly address: string }) | undefined): Text {
  if (plc === undefined || plc.kind === "up") return message("trial.not_run");
  const { address, reason, advice } = plc;
  return message("trial.unread", { address, reason, advice });
}

/** Restores the entry that was replaced by the entry on trial, and logs why. Returns false if no entry is on trial. */
export function takenBack(
  data_dir: string,
  { reason, at, log }: { readonly reason: Text; readonly at: EpochMs; readonly log: Pick<Logger, "warn"> },
): boolean {
  const values = storedSetUp(data_dir);
  const { trial } = values;
  if (trial === null) return false;
  const { booth, before } = trial;
  writeSetUp(data_dir, { ...withEntry(values, booth, before), trial: null, taken_back: { booth, reason, at } });
  log.warn({ event: "set_up_taken_back", booth, reason }, message("trial.taken_back", { booth, reason }));
  return true;
}

/** Reads the stored set-up. A damaged file counts as empty: the status reports the damage, and the next entry replaces the file. */
function storedSetUp(data_dir: string): SetUp {
  try {
    return readSetUp(data_dir);
  } catch (error) {
    if (error instanceof ConfigError) return NOTHING_SET_UP;
    throw error;
  }
}

function fixed(what: string, file: string): Refusal {
  return new Refusal(409, message("ask.fixed", { what, file }));
}

/** Throws a Refusal if the booth cannot run with the entry, or if the operator's file overrides a part of it. */
function mustWork(file: string, next: SetUp, { id, ...entry }: BoothEntry): void {
  const text = readSource(file);
  for (const key of Object.keys(entry)) {
    const names = key === "modbus" || key === "opcua" ? ["modbus", "opcua"] : [key];
    if (names.some((name) => operatorSays(text, file, ["booths", id, name]))) throw fixed(`${key} of ${id}`, file);
  }
  try {
    const { booths, refused, marked } = inspectText(text, file, next);
    const ready = booths.find(({ config }) => config.id === id);
    if (ready !== undefined) {
      const values: readonly unknown[] = Object.values(ready.config.opcua ?? {});
      const problems = fileProblems(marked.filter(({ value }) => values.includes(value)));
      if (problems.length === 0) return;
      throw new Refusal(400, problemsText(problems));
    }
    const why = refused.find((one) => one.id === id)?.error;
    throw new Refusal(400, why === undefined ? `${id} can't be run by that` : problemsText(why.problems));
  } catch (error) {
    if (error instanceof ConfigError) throw new Refusal(400, problemsText(error.problems));
    throw error;
  }
}

function problemsText(problems: ConfigError["problems"]): Text {
  const texts = problems.map(({ message: text, hint }) =>
    hint === undefined ? text : message("text.hint", { text, hint }),
  );
  return texts.reduce((first, second) => message("text.todo", { text: first, todo: second }));
}

/** Returns the configured service and booths with the source of each setting, which is the operator's file or the set-up. */
function entered(
  file: string,
  values: SetUp,
): { readonly service: Omit<SetUpStatus["service"], "has_key">; readonly booths: readonly BoothEntered[] } {
  const text = readSource(file);
  const { config } = inspectText(text, file, values);
  const says = (path: readonly string[]): SaidBy => (operatorSays(text, file, path) ? "file" : "set_up");
  const { url = null } = config.service;
  return {
    service: { url, said_by: url === null ? null : says(["service", "url"]) },
    booths: config.booths.map((booth) => ({
      booth: booth.id,
      profile: booth.profile,
      address: plcAddress(booth),
      tz: booth.tz,
      said_by: Object.fromEntries(
        ["profile", booth.modbus === undefined ? "opcua" : "modbus", "tz", "serial"].map((key) => [
          key,
          says(["booths", booth.id, key]),
        ]),
      ),
    })),
  };
}
