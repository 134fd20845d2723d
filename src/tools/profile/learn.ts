import { say } from "../../domain/sentences.ts";
import type { PlcTools } from "../../acquisition/port.ts";
import { MODES_LISTED, type ProfileMode } from "../../domain/booth.ts";
import { meant } from "../texts.ts";
import { CommandError, EXIT, type Call, type Run, type Values } from "../command.ts";
import { deviceLink, numberOption } from "../plc-tools.ts";
import {
  type Draft,
  type Entered,
  entryOf,
  openDraft,
  protocolOf,
  quirksOf,
  tagEntries,
  type TagEntry,
} from "./file.ts";
import { type Look, lookingAtTags, placeOf, type Range, rangesIn, rangesOf, scanning } from "./read.ts";
import { codeWithout, type ModeFinding, modeFindings, type Stay } from "../rules/profile-modes.ts";
import { LEARN_MODE_FOR, LEARNED_MODES } from "../rules/usual.ts";
import { usualTags } from "./usual-tags.ts";
import { lengthOption, textOption } from "../options.ts";
import { forgetStays, keepStays, type StaysDone, staysDone } from "./learned-stays.ts";
import { type Change, enter } from "./enter.ts";

/** `profile learn modes`: what tells the mode, by looking at all registers while somebody sets the booth to one after another. */
export function learnModesCommand(tools: PlcTools): Run {
  return (call) => learnModes(tools, call);
}

/** Lets `act` look at what the draft's device shows: every register of the ranges, or all variables of an OPC UA profile. */
export function looking<T>(tools: PlcTools, call: Call, act: (look: () => Promise<Look>) => Promise<T>): Promise<T> {
  const { values, io } = call;
  const draft = openDraft(values);
  const protocol = protocolOf(draft);
  const rate = requestRate(values);
  const reading = { tools: tools.paced(rate), link: deviceLink(values, protocol), io };
  if (protocol === "opcua") return lookingAtTags(reading, draft, act);
  const quirks = quirksOf(draft);
  const range = textOption(values, "range");
  const ranges = range === undefined ? rangesOf(quirks) : rangesIn(range);
  io.err(`${say("workshop.reads", { ranges: rangesText(ranges), rate })}\n`);
  return scanning(reading, { quirks, ranges }, act);
}

/** A PLC has a machine to run; more is for who knows that it can. */
const USUAL_RATE = 5;
const HIGHEST_RATE = 1_000;

/** Requests a second that learning and browsing may make. Throws a CommandError. */
export function requestRate(values: Values): number {
  return numberOption(values, "rate", { min: 0.1, max: HIGHEST_RATE }) ?? USUAL_RATE;
}

function rangesText(ranges: readonly Range[]): string {
  return ranges.map(({ table, first, last }) => `${table}:${first}-${last}`).join(", ");
}

/** After a change: one look may still show the state before, and zeros in place of other values are believed at the third look alone. */
const SETTLING_LOOKS = 3;
const LOOKS = 5;
const LONGEST_H = 1;

async function learnModes(tools: PlcTools, call: Call): Promise<number> {
  const { values, io } = call;
  const draft = openDraft(values);
  const modes = modesIn(textOption(values, "modes"));
  const for_ms = lengthOption({ for: LEARN_MODE_FOR, ...values }, "for", LONGEST_H) ?? 0;
  const wish = `${modes.join()} ${textOption(values, "range") ?? ""}`;
  const made = new Map(await doneBefore(call, draft, wish));
  await looking(tools, call, async (look) => {
    // The first mode once more in the end: what reads the same then is no counter.
    for (const [index, mode] of [...modes, ...modes.slice(0, 1)].entries()) {
      if (made.has(index)) continue;
      const code = index === modes.length ? "workshop.set_mode_again" : "workshop.set_mode";
      const said = await io.ask(`${say(code, { mode })} `, "ready");
      if (said === null) throw new CommandError("nobody to set the booth's mode: learn modes needs a terminal");
      if (/^s/i.test(said.trim())) continue;
      made.set(index, { mode, looks: await stay(tools, call, { look, mode, for_ms }) });
      keepStays(draft, made, { wish, at: Date.now() });
    }
  });
  forgetStays(draft);
  const stays = [...made.values()];
  const entries = tagEntries(draft.text);
  const known = entries.find(({ role }) => role === "mode");
  const finding = await chosen(call, modeFindings(stays, known === undefined ? undefined : placeOf(known)));
  return enter(call, draft, changeOf(finding, { draft, stays, known }));
}

/** What was learned before a stop, if somebody wants to go on with it. */
async function doneBefore({ io }: Call, draft: Draft, wish: string): Promise<StaysDone> {
  const done = staysDone(draft, wish, Date.now());
  if (done.size === 0) return done;
  const names = [...done.values()].map(({ mode }) => mode).join(", ");
  const said = await io.ask(`${say("workshop.go_on", { modes: names })} [y/N] `, "agree");
  return /^y/i.test(said?.trim() ?? "") ? done : new Map();
}

async function stay(
  tools: PlcTools,
  { io }: Call,
  { look, mode, for_ms }: { readonly look: () => Promise<Look>; readonly mode: ProfileMode; readonly for_ms: number },
): Promise<readonly Look[]> {
  const looks: Look[] = [];
  for (let i = 0; i < SETTLING_LOOKS; i++) await look();
  for (let i = 0; i < LOOKS; i++) {
    io.progress(say("workshop.look", { mode, number: i + 1, of: LOOKS }));
    looks.push(await look());
    await tools.sleep(for_ms / LOOKS, io.signal);
  }
  io.progress("");
  return looks;
}

function modesIn(text: string | undefined): readonly ProfileMode[] {
  if (text === undefined) return LEARNED_MODES;
  const modes = text.split(",").map((one) => {
    const mode = MODES_LISTED.find((known): known is ProfileMode => known === one.trim() && known !== "no_data");
    if (mode !== undefined) return mode;
    const hint = meant(one.trim(), MODES_LISTED);
    throw new CommandError(
      say("workshop.no_mode", { mode: one.trim(), hint, modes: MODES_LISTED.join(", ") }),
      EXIT.usage,
    );
  });
  if (new Set(modes).size > 1) return modes;
  throw new CommandError(say("workshop.two_modes"), EXIT.usage);
}

/** The finding, after a question where there are several. Throws a CommandError where there is none. */
async function chosen({ values, io }: Call, findings: readonly ModeFinding[]): Promise<ModeFinding> {
  const [first, ...others] = findings;
  if (first === undefined) {
    throw new CommandError(say("workshop.no_place"));
  }
  if (others.length === 0 || values["yes"] === true) return first;
  const shown = findings.slice(0, MOST_SHOWN).map((one, i) => `  ${i + 1}: ${findingText(one)}\n`);
  const said = await io.ask(`${say("workshop.several")}\n${shown.join("")}${say("workshop.which_one")} `);
  const number = said === null || said.trim() === "" ? 1 : Number(said);
  const found = findings[number - 1];
  if (found === undefined) throw new CommandError(say("workshop.none_of_them", { text: said ?? "" }));
  return found;
}

const MOST_SHOWN = 5;

function findingText(finding: ModeFinding): string {
  if (finding.kind === "code")
    return `${finding.place} is ${finding.codes.map(({ code, mode }) => `${code} in ${mode}`).join(", ")}`;
  return finding.bits.map(({ place, bit, mode }) => `${bitText(place, bit)} on in ${mode}`).join(", ");
}

function bitText(place: string, bit: number | null): string {
  return bit === null ? place : `${place} bit ${bit}`;
}

interface Learned {
  readonly draft: Draft;
  readonly stays: readonly Stay[];
  readonly known: TagEntry | undefined;
}

function changeOf(finding: ModeFinding, { draft, stays, known }: Learned): Change {
  const looks = stays.reduce((sum, stay) => sum + stay.looks.length, 0);
  const from = `learned on ${new Date().toISOString().slice(0, 10)} in ${looks} looks at ${stays.length} stays`;
  const told = [findingText(finding)];
  if (finding.kind === "code") {
    const modes = finding.codes.map(({ code, mode }) => ({ entry: { code: String(code), mode }, from }));
    return { told, modes, tags: known === undefined ? [codeTag(draft, finding.place, from)] : [] };
  }
  const none = codeWithout(finding);
  const modes = none === null ? [] : [{ entry: none, from }];
  const tags = finding.bits.map(({ place, bit, mode }): Entered<TagEntry> => {
    const at = { address: place, type: "bool", ...(bit === null ? {} : { bit }) };
    return { entry: entryOf({ name: `mode_${mode}`, role: "mode_bit", mode, ...at, group: "fast" }), from };
  });
  return { told, modes, tags };
}

/** A register's own tag; over OPC UA the place is a tag that is there already, and gets the role. */
function codeTag(draft: Draft, place: string, from: string): Entered<TagEntry> {
  const own = tagEntries(draft.text).find(({ name }) => name === place);
  if (own !== undefined) return { entry: entryOf({ ...own, role: "mode" }), from };
  const meaning = usualTags().get("mode")?.meaning ?? {};
  return { entry: entryOf({ name: "mode", ...meaning, address: place, type: "uint16" }), from };
}
