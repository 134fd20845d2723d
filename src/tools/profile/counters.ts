import { message, type Text } from "../../domain/message.ts";
import type { PlcTools } from "../../acquisition/port.ts";
import { MINUTE_MS, SECOND_MS } from "../../domain/time.ts";
import { type Call, type Choice, CommandError, type Run } from "../command.ts";
import { lengthOption } from "../options.ts";
import {
  type CounterFinding,
  counterFindings,
  type CounterReading,
  type Guess,
  guessOf,
} from "../rules/profile-counters.ts";
import { LEARN_COUNTERS_FOR } from "../rules/usual.ts";
import { enter } from "./enter.ts";
import {
  type Entered,
  keyText,
  modesOf,
  openDraft,
  protocolOf,
  quirksOf,
  tagEntries,
  type TagEntry,
  today,
} from "./file.ts";
import { type PlaceValues, placeOf, withPlaceReader } from "./read.ts";
import { counterIn, meantEntry, type UsualTag, usualFor, usualTags } from "./usual-tags.ts";

const LONGEST_H = 24;
/** The maximum number of readings to keep: enough to distinguish a counter from a sensor. More would fill the memory of a small box. */
const MOST_READINGS = 240;

/** Makes the command `profile learn counters`: finds registers that only grow while the booth works, with their rates and modes. */
export function learnCountersCommand(tools: PlcTools): Run {
  return async (call) => {
    const { values, io } = call;
    const draft = openDraft(values);
    if (protocolOf(draft) === "opcua") throw new CommandError(message("workshop.browse_says"));
    const for_ms = lengthOption({ for: LEARN_COUNTERS_FOR, ...values }, "for", LONGEST_H) ?? 0;
    const modeIn = modeReader(draft.text);
    const pause_ms = Math.max(SECOND_MS, for_ms / MOST_READINGS);
    const readings = await withPlaceReader(tools, call, async (readPlaces) => {
      const all: CounterReading[] = [];
      const began = tools.mono();
      for (let now = began; ; now = tools.mono()) {
        const places = await readPlaces();
        const mode = modeIn(places);
        all.push({ at_ms: tools.mono() - began, mode, places });
        io.progress(message("workshop.watching", { mode: mode ?? "-" }), (now - began) / for_ms);
        if (now - began >= for_ms) return all;
        await tools.sleep(pause_ms, io.signal);
      }
    });
    const known = new Set(tagEntries(draft.text).map(placeOf));
    const found = counterFindings(readings, quirksOf(draft).word_order).filter(({ place }) => !known.has(place));
    if (found.length === 0) throw new CommandError(message("workshop.nothing_grew"));
    if (values["json"] !== true)
      io.table([HEADS.map((head) => message(`workshop.counter_${head}`)), ...found.map(rowOf)]);
    const source = `learned on ${today()} in ${Math.round(for_ms / MINUTE_MS)} min`;
    const tags: Entered<TagEntry>[] = [];
    for (const finding of found) tags.push(...(await named(call, finding, source)));
    return enter(call, draft, { tags, told: [], answer: { found } });
  };
}

/** Returns a function that reads the mode from values. Its result is null if the draft (the unfinished profile) doesn't map modes yet. */
function modeReader(text: string): (values: PlaceValues) => string | null {
  const modes = modesOf(text);
  const tag = tagEntries(text).find(({ role }) => role === "mode");
  const place = tag === undefined ? undefined : placeOf(tag);
  return (values) => (place === undefined ? null : (modes[String(values.get(place))] ?? null));
}

const HEADS = ["register", "type", "now", "per_hour", "grew", "rested"] as const;

function rowOf({ place, type, word_order, last, per_h, growth }: CounterFinding): (string | number)[] {
  const letters = word_order === undefined ? "" : word_order === "low_first" ? " CDAB" : " ABCD";
  const modes = (hasGrown: boolean): string => {
    const those = growth.filter(({ grown }) => grown > 0 === hasGrown);
    return those.map(({ mode }) => mode).join(", ");
  };
  return [place, `${type}${letters}`, last, Number(per_h.toPrecision(3)), modes(true), modes(false)];
}

/** Asks for the counter's tag and for the value on the machine's display, which proves the word order and the scale. */
async function named({ io, values }: Call, finding: CounterFinding, source: string): Promise<Entered<TagEntry>[]> {
  const { place, type, last, per_h, growth } = finding;
  const guess = guessOf(finding);
  const rate = String(Number(per_h.toPrecision(3)));
  const about = message("workshop.counter", { place, value: String(last), rate });
  const ask = async (question: Text, choices?: readonly Choice[]): Promise<string> =>
    values["yes"] === true
      ? ""
      : ((await io.ask(question, choices === undefined ? undefined : "choose", choices))?.trim() ?? "");
  const name = (await ask(message("workshop.which_tag", { about }), counterChoices(guess))) || guess?.tag;
  if (name === undefined || name === "-") return [];
  const usual = usualFor(name);
  const shown = await ask(message("workshop.display", { tag: name }));
  const read = readAs(finding, { guess, usual, shown });
  const grown = growth.filter((one) => one.grown > 0).map((one) => `${one.grown} in ${one.mode}`);
  const isPlain = usual?.counter === undefined && usual?.meaning["role"] !== "uptime";
  const entry = {
    name,
    address: read.place,
    type,
    word_order: read.word_order,
    scale: read.scale === 1 ? undefined : read.scale,
    ...(isPlain ? { counter: counterIn({ step: 1, retained: true }, type, read.scale) } : {}),
  };
  return [{ entry: meantEntry(usual, entry, "slow"), from: `${source}: grew ${grown.join(", ")}${read.said}` }];
}

/** Returns the usual counters as choices, the likely one first, and one that skips the register. */
function counterChoices(guess: Guess | null): readonly Choice[] {
  const counters = [...usualTags().values()].filter(({ isCounter }) => isCounter);
  const sorted = counters.toSorted((a, b) => Number(b.name === guess?.tag) - Number(a.name === guess?.tag));
  const named = sorted.map(({ name, meaning }) => ({ value: name, text: keyText(meaning, "label") }));
  const skip = { value: "-", text: message("workshop.leave_out") };
  return guess === null ? [skip, ...named] : [...named, skip];
}

interface Known {
  readonly guess: Guess | null;
  readonly usual: UsualTag | undefined;
  /** The text on the machine's display; "" if not known. */
  readonly shown: string;
}

const SCALES = [1, 0.1, 0.01, 0.001, 10] as const;
/** The accepted relative difference from the display: the counter may grow while a person reads the display. */
const CLOSE = 0.01;

/** Finds a counter's registers, word order and scale. Throws a CommandError if the display shows another value. */
function readAs(finding: CounterFinding, { guess, usual, shown }: Known) {
  const { place: first, also } = finding;
  if (shown === "") {
    const scale = guess?.scale ?? usual?.counter?.step ?? 1;
    const said = also.length === 0 ? "" : "; word order not confirmed";
    return { place: first, word_order: finding.word_order, scale, said };
  }
  const wanted = Number(shown);
  const ways = [finding, ...also];
  const fits = ways.flatMap(({ place, word_order, last }) =>
    SCALES.map((scale) => {
      const off = Math.abs(last * scale - wanted) / Math.max(1, Math.abs(wanted));
      return { place, word_order, scale, off };
    }),
  );
  const [best] = fits.toSorted((a, b) => a.off - b.off);
  if (best !== undefined && best.off <= CLOSE) return { ...best, said: `; the display showed ${shown}` };
  const read = ways.map(({ last }) => last).join(" or ");
  throw new CommandError(message("workshop.isnt", { place: first, read, shown }));
}
