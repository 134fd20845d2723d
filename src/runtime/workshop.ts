import { message } from "../domain/message.ts";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { PlcTools } from "../acquisition/port.ts";
import {
  Refusal,
  type WorkshopIo,
  type WorkshopDone,
  type WorkshopQuestion,
  type WorkshopStatus,
  type WorkshopWish,
} from "../api/operation.ts";
import { madeProfiles, readSetUp } from "../config/set-up.ts";
import type { Logger } from "../domain/machine.ts";
import { ConfigError } from "../config/config-error.ts";
import { unitsByDimension } from "../domain/engineering-units.ts";
import { plcAddress } from "../domain/plc-address.ts";
import { type Call, CommandError, EXIT, type Io, type Values } from "../tools/command.ts";
import { deviceLink } from "../tools/plc-tools.ts";
import { usualTags } from "../tools/profile/usual-tags.ts";
import { familyNames, keyText, type MadeProfile } from "../tools/profile/file.ts";
import { liveAt } from "../tools/profile/live.ts";
import { onWorkshopThread, type WorkshopHost } from "./workshop-thread.ts";

/** Folder below the data folder for the last list that was sent, and for the exported list. */
const BENCH = "workshop";
/** Time limit of a reply. After it, the question counts as abandoned and the PLC's link is released. */
const ANSWER_WITHIN_MS = 30 * 60_000;

interface Place {
  /** The operator's configuration file. */
  readonly file: string;
  readonly data_dir: string;
  readonly log: Logger;
  readonly tools: () => Promise<PlcTools>;
}

/**
 * Creates the profile workshop for the page. It runs the commands of the command line, and a person on the page answers their questions.
 */
export function createWorkshop({ file, data_dir, log, tools }: Place) {
  const folder = madeProfiles(data_dir);
  const bench = join(data_dir, BENCH);
  let asked: PromiseWithResolvers<string> | null = null;
  /** Asks the person at the page. Rejects if the person leaves or does not reply in time. */
  const ask = async (io: WorkshopIo, { question, kind, choices }: WorkshopQuestion): Promise<string> => {
    const reply = Promise.withResolvers<string>();
    asked = reply;
    const left = AbortSignal.any([io.signal, AbortSignal.timeout(ANSWER_WITHIN_MS)]);
    const leave = (): void => reply.reject(new CommandError(message("workshop.nobody")));
    left.addEventListener("abort", leave, { once: true });
    io.ask({ question, kind, choices });
    try {
      return await reply.promise;
    } finally {
      left.removeEventListener("abort", leave);
      asked = null;
    }
  };
  return {
    async status(booth?: string): Promise<WorkshopStatus> {
      const profiles = (await onWorkshopThread({ kind: "status", folder }, nobody())) as readonly MadeProfile[];
      const { values } = callOf({ action: "test", booth }, { file, folder, link: linkOf(data_dir), list: "", bench });
      const usual = [...usualTags().values()].map(({ name, meaning }) => {
        return {
          name,
          label: keyText(meaning, "label"),
          unit: keyText(meaning, "unit"),
          role: keyText(meaning, "role"),
        };
      });
      return { families: familyNames(), profiles, plc: plcOf(values), usual, units: unitsByDimension() };
    },
    keepList(name: string, bytes: Uint8Array): void {
      rmSync(bench, { recursive: true, force: true });
      mkdirSync(bench, { recursive: true, mode: 0o700 });
      // Keeps the list's original name in the file name, because messages mention it.
      writeFileSync(join(bench, `sent-${name.replaceAll(/[^\w.-]/g, "_")}`), bytes, { mode: 0o600 });
    },
    answer(reply: string): void {
      if (asked === null) throw new Refusal(409, message("workshop.nothing_asked"));
      asked.resolve(reply);
    },
    async run(wish: WorkshopWish, io: WorkshopIo): Promise<WorkshopDone> {
      const { profileCommand } = await import("../tools/profile/profile.ts");
      const list = join(bench, "made.csv");
      rmSync(list, { force: true });
      mkdirSync(bench, { recursive: true, mode: 0o700 });
      const { action } = wish;
      log.info({ event: "profile_workshop", action }, `profile ${action}: asked for on the page`);
      const call = callOf(wish, { file, folder, link: linkOf(data_dir), list, bench });
      let answer: unknown = null;
      const keep = (given: unknown): void => void (answer = given);
      const terminal = terminalOf(io, keep, (question, kind, choices = []) =>
        ask(io, { question, kind: kind ?? "text", choices }),
      );
      const plc = await tools();
      const onThread = (kind: "preview" | "import"): Promise<unknown> =>
        onWorkshopThread(
          { kind, values: call.values, operands: call.operands },
          { io: terminal, liveAt: (draft) => liveAt({ tools: plc, values: call.values, io: terminal }, draft) },
        );
      if (action === "preview")
        return { ok: true, list: null, answer: null, preview: Object(await onThread(action)) as object };
      const code = action === "import" ? await onThread(action) : await profileCommand(plc)({ ...call, io: terminal });
      return { ok: code === EXIT.ok, list: existsSync(list) ? readFileSync(list, "utf8") : null, answer };
    },
  };
}

/** Returns a host for jobs without output or questions. */
function nobody(): WorkshopHost {
  const io = {
    out: () => undefined,
    table: () => undefined,
    progress: () => undefined,
    ask: () => Promise.resolve(null),
    signal: new AbortController().signal,
  };
  return { io, liveAt: () => () => Promise.resolve(null) };
}

/** Returns the link that an unfinished set-up has found; null: the configured booth's link is used. */
function linkOf(data_dir: string): object | null {
  const { link } = readSetUp(data_dir).draft;
  return typeof link === "object" ? link : null;
}

interface Bench {
  readonly file: string;
  readonly folder: string;
  readonly link: object | null;
  readonly list: string;
  readonly bench: string;
}

/** Returns the address of the PLC that the workshop reads; null if none or several are possible. */
function plcOf(values: Values): string | null {
  for (const protocol of ["modbus", "opcua"] as const) {
    try {
      const { booth } = deviceLink(values, protocol);
      return "opcua" in booth ? plcAddress({ opcua: booth.opcua }) : plcAddress({ modbus: booth.modbus });
    } catch (error) {
      if (!(error instanceof CommandError || error instanceof ConfigError)) throw error;
    }
  }
  return null;
}

function callOf({ action, what, keys, ...given }: WorkshopWish, at: Bench): Pick<Call, "values" | "operands"> {
  const values = {
    ...given,
    ...(keys === undefined ? {} : { keys: JSON.stringify(keys) }),
    // A person at the page answers each question, except for an action that can be undone or that the page has asked about.
    yes: action === "delete",
    config: at.file,
    folder: at.folder,
    ...(at.link === null ? {} : { link: JSON.stringify(at.link) }),
    ...(action === "export" ? { out: at.list } : {}),
  };
  const operand = action === "import" || action === "preview" ? sentList(at.bench) : what;
  return { values, operands: [action, ...(operand === undefined || operand === "" ? [] : [operand])] };
}

function sentList(bench: string): string {
  const name = readdirSync(bench).find((one) => one.startsWith("sent-"));
  if (name === undefined) throw new CommandError(message("workshop.send_first"));
  return join(bench, name);
}

function terminalOf(io: WorkshopIo, answer: NonNullable<Io["answer"]>, ask: Io["ask"]): Io {
  return {
    out: (text) => io.say(text),
    err: (text) => io.say(text),
    table: (rows) => io.table(rows),
    isTerminal: true,
    colors: false,
    environment: {},
    signal: io.signal,
    ask,
    progress: (text, share) => io.progress(text, share),
    answer,
  };
}
