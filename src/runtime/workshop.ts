import { say } from "../domain/sentences.ts";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { PlcTools } from "../acquisition/port.ts";
import { Refusal, type WorkshopIo, type WorkshopStatus, type WorkshopWish } from "../api/operation.ts";
import { madeProfiles, readSetUp } from "../config/set-up.ts";
import { profileNames } from "../config/profile.ts";
import type { Logger } from "../domain/machine.ts";
import { type Call, CommandError, type Io } from "../tools/command.ts";
import { missingIn } from "../cli/profile-enter.ts";
import { familyNames, inspectDraft, tagEntries } from "../tools/profile-file.ts";
import { readSource } from "../config/yaml-source.ts";

/** The profile workshop for the page: the commands themselves, whose questions a person on the page answers. */

/** Below the data folder: the list that was sent last, and the one that is made. */
const BENCH = "workshop";
/** Whoever doesn't answer has gone home; the PLC's link isn't kept for them. */
const ANSWER_WITHIN_MS = 30 * 60_000;

interface Place {
  /** The operator's configuration. */
  readonly file: string;
  readonly data_dir: string;
  readonly log: Logger;
  readonly tools: () => Promise<PlcTools>;
}

export function createWorkshop({ file, data_dir, log, tools }: Place) {
  const folder = madeProfiles(data_dir);
  const bench = join(data_dir, BENCH);
  let asked: PromiseWithResolvers<string> | null = null;
  /** Waits for who stands before the page. Rejects where they leave. */
  const ask = async (io: WorkshopIo, question: string, kind?: string): Promise<string> => {
    const reply = Promise.withResolvers<string>();
    asked = reply;
    const left = AbortSignal.any([io.signal, AbortSignal.timeout(ANSWER_WITHIN_MS)]);
    const leave = (): void => reply.reject(new CommandError(say("workshop.nobody")));
    left.addEventListener("abort", leave, { once: true });
    io.ask(question.replace(/ \[[yn]\/[yn]\] $/i, ""), kind ?? "text");
    try {
      return await reply.promise;
    } finally {
      left.removeEventListener("abort", leave);
      asked = null;
    }
  };
  return {
    status: (): WorkshopStatus => ({
      families: familyNames(),
      profiles: madeIn(folder).map((name) => profileNow(folder, name)),
    }),
    keepList(name: string, text: string): void {
      rmSync(bench, { recursive: true, force: true });
      mkdirSync(bench, { recursive: true, mode: 0o700 });
      // Under its own name, so that lines say where they came from.
      writeFileSync(join(bench, `sent-${name.replaceAll(/[^\w.-]/g, "_")}`), text, { mode: 0o600 });
    },
    answer(reply: string): void {
      if (asked === null) throw new Refusal(409, say("workshop.nothing_asked"));
      asked.resolve(reply);
    },
    async run(wish: WorkshopWish, io: WorkshopIo) {
      const { profileCommand } = await import("../cli/profile.ts");
      const list = join(bench, "made.csv");
      rmSync(list, { force: true });
      mkdirSync(bench, { recursive: true, mode: 0o700 });
      const { action } = wish;
      log.info({ event: "profile_workshop", action }, `profile ${action}: asked for on the page`);
      const call = callOf(wish, { file, folder, link: linkOf(data_dir), list, bench });
      const code = await profileCommand(await tools())({
        ...call,
        io: terminalOf(io, (text, kind) => ask(io, text, kind)),
      });
      return { ok: code === 0, list: existsSync(list) ? readFileSync(list, "utf8") : null };
    },
  };
}

function madeIn(folder: string): readonly string[] {
  return existsSync(folder) ? profileNames([folder]) : [];
}

/** How far a profile is. */
function profileNow(folder: string, name: string): WorkshopStatus["profiles"][number] {
  const path = join(folder, `${name}.yaml`);
  const text = readSource(path);
  const { problems } = inspectDraft({ path, text });
  return { name, tags: tagEntries(text).length, missing: missingIn(problems) };
}

/** The link that a set-up in its midst has found; null: then the configured booth's is meant. */
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
  const operand = action === "import" ? sentList(at.bench) : what;
  return { values, operands: [action, ...(operand === undefined || operand === "" ? [] : [operand])] };
}

function sentList(bench: string): string {
  const name = readdirSync(bench).find((one) => one.startsWith("sent-"));
  if (name === undefined) throw new CommandError(say("workshop.send_first"));
  return join(bench, name);
}

function terminalOf(io: WorkshopIo, ask: Io["ask"]): Io {
  return {
    out: (text) => io.say(text),
    err: (text) => io.say(text),
    ...{ isTerminal: true, colours: false, environment: {}, signal: io.signal, ask },
    progress: (text) => io.progress(text),
  };
}
