import { message, type Message, type Text } from "../../domain/message.ts";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { PlcTools } from "../../acquisition/port.ts";
import { MODES_LISTED, type ProfileMode } from "../../domain/booth.ts";
import { HOUR_MS } from "../../domain/time.ts";
import { agrees, CommandError, EXIT, type Call, type Io, type Run } from "../command.ts";
import { lengthOption, textOption } from "../options.ts";
import { codeWithout, type ModeFinding, modeFindings, type Stay } from "../rules/profile-modes.ts";
import { LEARN_MODE_FOR, LEARNED_MODES } from "../rules/usual.ts";
import { withNearest } from "../texts.ts";
import { type Change, chosenMatch, enter } from "./enter.ts";
import {
  type Draft,
  type Entered,
  entryOf,
  modeNamed,
  openDraft,
  staysFile,
  tagEntries,
  type TagEntry,
  today,
} from "./file.ts";
import { type PlaceValues, placeOf, withPlaceReader } from "./read.ts";
import { meantEntry, usualTags } from "./usual-tags.ts";

/**
 * The number of readings to drop after a change of mode. The first reading may still show the old state, and the driver accepts sudden
 * zeros only after three readings.
 */
const SETTLING_READINGS = 3;
const READINGS = 5;
const LONGEST_H = 1;
/** The maximum number of candidates that are listed while learning. */
const MOST_SHOWN = 5;

/**
 * Makes the command `profile learn modes`: finds the registers that tell the mode, by reading all registers while a person brings the booth
 * into each mode.
 */
export function learnModesCommand(tools: PlcTools): Run {
  return async (call) => {
    const { values, io } = call;
    const draft = openDraft(values);
    const modes = modesIn(textOption(values, "modes"));
    const for_ms = lengthOption({ for: LEARN_MODE_FOR, ...values }, "for", LONGEST_H) ?? 0;
    const wish = `${modes.join()} ${textOption(values, "range") ?? ""}`;
    const done = await resumedStays(call, draft, wish);
    const known = tagEntries(draft.text).find(({ role }) => role === "mode");
    const place = known === undefined ? undefined : placeOf(known);
    // Repeats the first mode at the end: a register that reads the same again is no counter.
    const plan = [...modes, ...modes.slice(0, 1)];
    await withPlaceReader(tools, call, async (readPlaces) => {
      const record = (mode: ProfileMode) => recorded({ tools, io, readPlaces, for_ms }, mode);
      for (let open: readonly number[] = [...plan.keys()]; open.length > 0;) {
        await fillStays(io, { plan, open, done }, async (index, mode) => {
          done.set(index, { mode, readings: await record(mode) });
          keepStays(draft, done, wish);
          io.table([[message("workshop.candidates")], ...candidateRows(inOrder(done), place)]);
        });
        open = modeFindings(inOrder(done), place).length > 0 ? [] : await toRepeat(io, plan, done);
        for (const index of open) done.delete(index);
      }
    });
    rmSync(staysFile(draft), { force: true });
    const stays = inOrder(done);
    const findings = modeFindings(stays, place);
    if (findings.length === 0) throw new CommandError(message("workshop.no_place"));
    const matches = findings.map((value) => ({ value, text: findingText(value) }));
    const question = message("workshop.modes_correct", { found: matches[0]?.text ?? "" });
    const finding = await chosenMatch(call, question, matches);
    return enter(call, draft, { ...changeOf(finding, { draft, stays, known }), agreed: true });
  };
}

/** The modes to record, the indices that are still to be recorded, and the readings so far. */
interface Recording {
  readonly plan: readonly ProfileMode[];
  readonly open: readonly number[];
  readonly done: StaysDone;
}

/** Asks a person to set each open mode and records it. With the reply "r", the mode before is recorded once more. */
async function fillStays(
  io: Io,
  { plan, open, done }: Recording,
  record: (index: number, mode: ProfileMode) => Promise<void>,
): Promise<void> {
  const waiting = open.filter((index) => !done.has(index));
  for (let at = 0; at < waiting.length;) {
    const index = waiting[at] ?? 0;
    const mode = plan[index] ?? "idle";
    const code = index === plan.length - 1 ? "workshop.set_mode_again" : "workshop.set_mode";
    const reply = await io.ask(message(code, { mode }), "ready");
    if (reply === null) throw new CommandError(message("workshop.nobody_sets"));
    if (/^r/i.test(reply.trim())) at = Math.max(0, at - 1);
    else {
      if (!/^s/i.test(reply.trim())) await record(index, mode);
      at += 1;
    }
  }
}

interface Reader extends Pick<Call, "io"> {
  readonly tools: PlcTools;
  readonly readPlaces: () => Promise<PlaceValues>;
  readonly for_ms: number;
}

/** Reads all places while the booth stays in a mode. */
async function recorded({ tools, io, readPlaces, for_ms }: Reader, mode: ProfileMode): Promise<readonly PlaceValues[]> {
  const readings: PlaceValues[] = [];
  const total = SETTLING_READINGS + READINGS;
  for (let i = 0; i < total; i++) {
    io.progress(message("workshop.look", { mode }), i / total);
    const places = await readPlaces();
    if (i < SETTLING_READINGS) continue;
    readings.push(places);
    await tools.sleep(for_ms / READINGS, io.signal);
  }
  io.progress("");
  return readings;
}

/** Returns the stays in the order of the questions. */
function inOrder(done: StaysDone): readonly Stay[] {
  return [...done].toSorted(([a], [b]) => a - b).map(([, stay]) => stay);
}

/** Describes the places that can still be the mode, or says that there is none yet. */
function candidateRows(stays: readonly Stay[], place: string | undefined): readonly [Text][] {
  if (new Set(stays.map(({ mode }) => mode)).size < 2) return [[message("workshop.one_mode_yet")]];
  const findings = modeFindings(stays, place);
  if (findings.length === 0) return [[message("workshop.no_candidate")]];
  const more = findings.length - MOST_SHOWN;
  const rows = findings.slice(0, MOST_SHOWN).map((one): [Text] => [candidateText(one, stays)]);
  return more > 0 ? [...rows, [message("workshop.and_more", { count: more })]] : rows;
}

function candidateText(finding: ModeFinding, stays: readonly Stay[]): Text {
  if (finding.kind === "bits") return findingText(finding);
  const codes = stays.map(({ mode }) => String(finding.codes.find((one) => one.mode === mode)?.code ?? "?"));
  return message("workshop.candidate", { place: finding.place, codes });
}

/** Asks which mode to record once more, because no place fits. Returns its indices; empty: the person ends the search. */
async function toRepeat(io: Io, plan: readonly ProfileMode[], done: StaysDone): Promise<readonly number[]> {
  const modes = [...new Set(inOrder(done).map(({ mode }) => mode))];
  const choices = [
    ...modes.map((value) => ({ value, text: "" })),
    { value: "-", text: message("workshop.end_search") },
  ];
  const reply = await io.ask(message("workshop.repeat_which"), "choose", choices);
  return [...plan.keys()].filter((index) => plan[index] === reply?.trim());
}

/** The readings of each mode that is done, by the mode's index in the order of the questions. */
type StaysDone = Map<number, Stay>;

/** The longest time after which an interrupted run can be resumed. Later, the counters and the program of a booth in use may differ. */
const STAYS_KEPT_MS = HOUR_MS;

/** The readings of an interrupted run, in a file next to the draft, so that the next run can resume. */
interface KeptStays {
  /** The modes and addresses that the interrupted run recorded. Only a run with the same ones can resume it. */
  readonly wish: string;
  readonly at: number;
  readonly stays: readonly (readonly [
    index: number,
    mode: Stay["mode"],
    readings: readonly (readonly [string, number][])[],
  ])[];
}

function keepStays(draft: Draft, done: StaysDone, wish: string): void {
  const stays = [...done].map(([index, { mode, readings }]) => [index, mode, readings.map((one) => [...one])] as const);
  const kept: KeptStays = { wish, at: Date.now(), stays };
  writeFileSync(staysFile(draft), JSON.stringify(kept), { mode: 0o644 });
}

/** Returns the kept readings if they belong to the same modes and addresses, are at most an hour old, and the user agrees to resume. */
async function resumedStays({ io }: Call, draft: Draft, wish: string): Promise<StaysDone> {
  const kept = keptStays(draft);
  if (kept === null || kept.wish !== wish || Date.now() - kept.at > STAYS_KEPT_MS || kept.stays.length === 0)
    return new Map();
  const modes = kept.stays.map(([, mode]) => mode).join(", ");
  if (!(await agrees(io, message("workshop.go_on", { modes })))) return new Map();
  return new Map(
    kept.stays.map(([index, mode, readings]) => [index, { mode, readings: readings.map((one) => new Map(one)) }]),
  );
}

function keptStays(draft: Draft): KeptStays | null {
  if (!existsSync(staysFile(draft))) return null;
  try {
    return JSON.parse(readFileSync(staysFile(draft), "utf8")) as KeptStays;
  } catch {
    return null; // a power cut may leave an incomplete file
  }
}

function modesIn(text: string | undefined): readonly ProfileMode[] {
  if (text === undefined) return LEARNED_MODES;
  const modes = text.split(",").map((part) => {
    const name = part.trim();
    const mode = modeNamed(name);
    if (mode !== undefined) return mode;
    const text = withNearest(message("workshop.no_mode", { mode: name }), name, MODES_LISTED);
    const todo = message("workshop.there_are", { names: MODES_LISTED.join(", ") });
    throw new CommandError(message("text.todo", { text, todo }), EXIT.usage);
  });
  if (new Set(modes).size > 1) return modes;
  throw new CommandError(message("workshop.two_modes"), EXIT.usage);
}

function findingText(finding: ModeFinding): Message {
  if (finding.kind === "code") {
    const codes = finding.codes.map(({ code, mode }) => message("workshop.code_in", { code: String(code), mode }));
    return message("workshop.codes_at", { place: finding.place, codes });
  }
  const bitText = (place: string, bit: number | null): Text =>
    bit === null ? place : message("workshop.bit_of", { place, bit: String(bit) });
  const bits = finding.bits.map(({ place, bit, mode }) =>
    message("workshop.bit_in", { place: bitText(place, bit), mode }),
  );
  return message("text.list", { texts: bits });
}

interface Learned {
  readonly draft: Draft;
  readonly stays: readonly Stay[];
  /** The existing mode tag of the draft (the unfinished profile). */
  readonly known: TagEntry | undefined;
}

function changeOf(finding: ModeFinding, { draft, stays, known }: Learned): Change {
  const count = stays.reduce((sum, { readings }) => sum + readings.length, 0);
  const from = `learned on ${today()} from ${count} readings in ${stays.length} modes`;
  if (finding.kind === "code") {
    const modes = finding.codes.map(({ code, mode }) => ({ entry: { code: String(code), mode }, from }));
    return { told: [], modes, tags: known === undefined ? [{ entry: codeEntry(draft, finding.place), from }] : [] };
  }
  const none = codeWithout(finding);
  const modes = none === null ? [] : [{ entry: none, from }];
  const tags = finding.bits.map(({ place, bit, mode }): Entered<TagEntry> => {
    const at = { address: place, type: "bool", bit: bit ?? undefined, group: "fast" };
    return { entry: entryOf({ name: `mode_${mode}`, role: "mode_bit", mode, ...at }), from };
  });
  return { told: [], modes, tags };
}

/** Makes a tag for the register that holds the mode. Over OPC UA, `place` is the name of a tag in the draft, which gets the role. */
function codeEntry(draft: Draft, place: string): TagEntry {
  const own = tagEntries(draft.text).find(({ name }) => name === place);
  if (own !== undefined) return entryOf({ ...own, role: "mode" });
  return meantEntry(usualTags().get("mode"), { name: "mode", address: place, type: "uint16" });
}
