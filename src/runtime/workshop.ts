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
import { type Call, CommandError, EXIT, type Io } from "../tools/command.ts";
import { familyNames, type MadeProfile } from "../tools/profile/file.ts";
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
    async status(): Promise<WorkshopStatus> {
      const profiles = (await onWorkshopThread({ kind: "status", folder }, nobody())) as readonly MadeProfile[];
      return { families: familyNames(), profiles };
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
      const terminal = terminalOf(io, (question, kind, choices = []) =>
        ask(io, { question, kind: kind ?? "text", choices }),
      );
      const plc = await tools();
      const onThread = (kind: "preview" | "import"): Promise<unknown> =>
        onWorkshopThread(
          { kind, values: call.values, operands: call.operands },
          { io: terminal, liveAt: (draft) => liveAt({ tools: plc, values: call.values, io: terminal }, draft) },
        );
      if (action === "preview") return { ok: true, list: null, preview: Object(await onThread(action)) as object };
      const code = action === "import" ? await onThread(action) : await profileCommand(plc)({ ...call, io: terminal });
      return { ok: code === EXIT.ok, list: existsSync(list) ? readFileSync(list, "utf8") : null };
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

function callOf({ action, what, ...given }: WorkshopWish, at: Bench): Pick<Call, "values" | "operands"> {
  const values = {
    ...given,
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

function terminalOf(io: WorkshopIo, ask: Io["ask"]): Io {
  return {
    out: (text) => io.say(text),
    err: (text) => io.say(text),
    table: (rows) => io.table(rows),
    isTerminal: true,
    colors: false,
    environment: {},
    signal: io.signal,
    ask,
    progress: (text) => io.progress(text),
  };
}
