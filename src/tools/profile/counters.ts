import { say } from "../../domain/sentences.ts";
import type { PlcTools } from "../../acquisition/port.ts";
import type { FirstOf } from "../../domain/profile.ts";
import { type Call, CommandError, type Run } from "../command.ts";
import { type Entered, entryOf, modesOf, openDraft, protocolOf, quirksOf, tagEntries, type TagEntry } from "./file.ts";
import { type Look, placeOf } from "./read.ts";
import {
  type CounterFinding,
  counterFindings,
  type CounterLook,
  type Guess,
  guessOf,
} from "../rules/profile-counters.ts";
import { LEARN_COUNTERS_FOR } from "../rules/usual.ts";
import { barText } from "../texts.ts";
import { counterIn, type UsualTag, usualFor, usualIn, usualTags } from "./usual-tags.ts";
import { lengthOption } from "../options.ts";
import { enter } from "./enter.ts";
import { looking } from "./learn.ts";
import { tableText } from "../print.ts";

const LONGEST_H = 24;
/** Enough to tell a counter from a sensor; more would fill the memory of a small box. */
const MOST_LOOKS = 240;
const LEAST_PAUSE_MS = 1000;

/** `profile learn counters`: what only grows while the booth works, at which rate, in which modes. */
export function learnCountersCommand(tools: PlcTools): Run {
  return async (call) => {
    const { values, io } = call;
    const draft = openDraft(values);
    if (protocolOf(draft) === "opcua") throw new CommandError(say("workshop.browse_says"));
    const for_ms = lengthOption({ for: LEARN_COUNTERS_FOR, ...values }, "for", LONGEST_H) ?? 0;
    const looks = await looking(tools, call, (look) =>
      watch({ tools, call, modeIn: modeReader(draft.text) }, look, for_ms),
    );
    const known = new Set(tagEntries(draft.text).map(placeOf));
    const found = counterFindings(looks, quirksOf(draft).word_order).filter(({ place }) => !known.has(place));
    if (found.length === 0) throw new CommandError(say("workshop.nothing_grew"));
    const json = values["json"] === true;
    if (!json) io.out(tableText(["register", "type", "now", "per hour", "grew in", "rested in"], found.map(rowOf)));
    const minutes = Math.round(for_ms / 60_000);
    const tags: Entered<TagEntry>[] = [];
    for (const finding of found) tags.push(...(await named(call, finding, minutes)));
    return enter(call, draft, { tags, told: [], answer: { found } });
  };
}

interface Watching {
  readonly tools: PlcTools;
  readonly call: Call;
  readonly modeIn: (look: Look) => string | null;
}

async function watch(
  { tools, call, modeIn }: Watching,
  look: () => Promise<Look>,
  for_ms: number,
): Promise<readonly CounterLook[]> {
  const { io } = call;
  const pause_ms = Math.max(LEAST_PAUSE_MS, for_ms / MOST_LOOKS);
  const looks: CounterLook[] = [];
  const began = tools.mono();
  for (let now = began; ; now = tools.mono()) {
    const places = await look();
    looks.push({ at_ms: tools.mono() - began, mode: modeIn(places), places });
    io.progress(`${barText((now - began) / for_ms)}  ${looks.at(-1)?.mode ?? ""}`);
    if (now - began >= for_ms) break;
    await tools.sleep(pause_ms, io.signal);
  }
  io.progress("");
  return looks;
}

/** What the draft knows of the mode so far. */
function modeReader(text: string): (look: Look) => string | null {
  const modes = modesOf(text);
  const tag = tagEntries(text).find(({ role }) => role === "mode");
  const place = tag === undefined ? undefined : placeOf(tag);
  return (look) => (place === undefined ? null : (modes[String(look.get(place))] ?? null));
}

function letters(order: FirstOf | undefined): string {
  return order === undefined ? "" : order === "low_first" ? " CDAB" : " ABCD";
}

function rowOf({ place, type, word_order, last, per_h, growth }: CounterFinding): (string | number)[] {
  const names = (isGrown: boolean): string =>
    growth
      .filter(({ grown }) => grown > 0 === isGrown)
      .map(({ mode }) => mode)
      .join(", ");
  return [place, `${type}${letters(word_order)}`, last, Number(per_h.toPrecision(3)), names(true), names(false)];
}

/** Asks which tag it is, and what the machine's display shows, which tells order and scale. */
async function named({ io, values }: Call, finding: CounterFinding, minutes: number): Promise<Entered<TagEntry>[]> {
  const guess = guessOf(finding);
  const about = `${finding.place}: ${finding.last}, ${Number(finding.per_h.toPrecision(3))} an hour`;
  const likely = guess === null ? say("workshop.leave_out") : say("workshop.enter_tag", { tag: guess.tag });
  const said = values["yes"] === true ? "" : await io.ask(`${say("workshop.which_tag", { about, likely })} `);
  const name = said === null || said.trim() === "" ? guess?.tag : said.trim();
  if (name === undefined || name === "-") return [];
  const usual = usualFor(name, usualTags());
  const shown = values["yes"] === true ? null : await io.ask(`${say("workshop.display", { tag: name })} `);
  const read = readAs(finding, { guess, usual, shown: shown?.trim() ?? "" });
  const growth = finding.growth.filter(({ grown }) => grown > 0).map(({ mode, grown }) => `${grown} in ${mode}`);
  const from = `learned on ${new Date().toISOString().slice(0, 10)} in ${minutes} min: grew ${growth.join(", ")}${read.said}`;
  const known = usual === null ? null : usualIn(usual, name, undefined);
  const counter = known?.counter ?? { step: 1, retained: true };
  const scale = read.scale === 1 ? {} : { scale: read.scale };
  const order = read.word_order === undefined ? {} : { word_order: read.word_order };
  const meaning = known?.meaning ?? { group: "slow" };
  const counts = usual?.meaning["role"] === "uptime" ? {} : { counter: counterIn(counter, finding.type, read.scale) };
  return [
    {
      entry: entryOf({ name, ...meaning, address: read.place, type: finding.type, ...order, ...scale, ...counts }),
      from,
    },
  ];
}

interface Known {
  readonly guess: Guess | null;
  readonly usual: UsualTag | null;
  readonly shown: string;
}

const SCALES = [1, 0.1, 0.01, 0.001, 10] as const;
/** It went on counting while somebody read the display. */
const CLOSE = 0.01;

/** Which registers, in which order and scale. Throws a CommandError where the display shows something else. */
function readAs(finding: CounterFinding, { guess, usual, shown }: Known) {
  const ways = [finding, ...finding.also];
  if (shown === "") {
    const scale = guess?.scale ?? usual?.counter?.step ?? 1;
    const doubt = finding.also.length === 0 ? "" : "; which word comes first is not proven";
    return { place: finding.place, word_order: finding.word_order, scale, said: doubt };
  }
  const wanted = Number(shown);
  const fits = ways.flatMap(({ place, word_order, last }) =>
    SCALES.map((scale) => ({
      place,
      word_order,
      scale,
      off: Math.abs(last * scale - wanted) / Math.max(1, Math.abs(wanted)),
    })),
  );
  const [best] = fits.toSorted((a, b) => a.off - b.off);
  if (best === undefined || !(best.off <= CLOSE)) {
    const read = ways.map(({ last }) => last).join(" or ");
    throw new CommandError(say("workshop.isnt", { place: finding.place, read, shown }));
  }
  return { ...best, said: `; the display showed ${shown}` };
}
