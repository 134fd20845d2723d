import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { render } from "../../../src/domain/messages/render.ts";
import { alignedText } from "../../../src/tools/print.ts";
import { importCommand } from "../../../src/tools/profile/import.ts";
import { type Call, CommandError, type Io } from "../../../src/tools/command.ts";
import { newDraft } from "../../../src/tools/profile/file.ts";
import { type GeneratedList, generatedList, type Signal, type Truth } from "./generated-lists.ts";

/** Counts of the results for many generated lists. */
export interface ListCounts {
  lists: number;
  rows: number;
  /** Rows that are in the profile, right in every key. */
  right: number;
  /** Rows that were left out by name. */
  left: number;
  /** Lists by the number of questions that they needed. */
  readonly questions: number[];
  readonly wrong: string[];
}

const DRAFT = newDraft("acme", "modbus");
/** Failures that are told; more say the same. */
const MOST_TOLD = 20;

/** Imports the lists of so many seeds as a person would who knows the PLC, and compares each tag with the truth. */
export async function playLists(folder: string, first: number, count: number): Promise<ListCounts> {
  const counts: ListCounts = { lists: 0, rows: 0, right: 0, left: 0, questions: [], wrong: [] };
  for (let seed = first; seed < first + count && counts.wrong.length < MOST_TOLD; seed += 1) {
    await playOne(folder, seed, counts);
  }
  return counts;
}

interface Tag {
  readonly name: string;
  readonly address: string;
  readonly bit?: number;
  readonly type: string;
  readonly unit?: string;
  readonly scale?: number;
  readonly offset?: number;
  readonly role?: string;
  readonly label?: string;
}

async function playOne(folder: string, seed: number, counts: ListCounts): Promise<void> {
  const list = generatedList(seed);
  const profile = join(folder, "acme.yaml");
  const file = join(folder, "list.csv");
  writeFileSync(profile, DRAFT);
  writeFileSync(file, list.bytes);
  let asked = 0;
  let out = "";
  const io: Io = {
    out: (text) => void (out += render(text)),
    err: (text) => void (out += render(text)),
    table: (rows) => void (out += alignedText(rows)),
    isTerminal: true,
    colors: false,
    progress: () => undefined,
    environment: {},
    signal: new AbortController().signal,
    ask: (text, kind, choices = []) => {
      const question = render(text);
      if (question.startsWith("Save these lines in")) return Promise.resolve("y");
      asked += 1;
      // A meaning by name alone isn't confirmed: no role is then right.
      return Promise.resolve(
        kind === "choose"
          ? replyTo(
              question,
              choices.map(({ value }) => value),
              list.truth,
            )
          : "n",
      );
    },
  };
  const call: Call = { values: { folder, profile: "acme", json: false }, operands: ["import", file], io };
  counts.lists += 1;
  counts.rows += list.signals.length;
  const wrong = (why: string): void => void counts.wrong.push(`seed ${seed}, ${list.kind}: ${why}\n${list.text}`);
  try {
    await importCommand(() => () => Promise.resolve(null))(call);
  } catch (error) {
    if (!(error instanceof CommandError)) wrong(String(error instanceof Error ? error.stack : error));
    else wrong(`refused: ${error.message}`);
    return;
  }
  counts.questions[asked] = (counts.questions[asked] ?? 0) + 1;
  const { tags } = parse(readFileSync(profile, "utf8")) as { readonly tags: readonly Tag[] };
  compare(list, { tags, out }, { counts, wrong });
}

/** Returns the answer of a person who knows the PLC. */
function replyTo(question: string, values: readonly string[], truth: Truth): string {
  const word = /"([^"]+)" in the column/.exec(question)?.[1];
  if (word !== undefined) return truth.words[word] ?? "none";
  const known = [
    `${truth.registers}:${truth.base}`,
    truth.base,
    truth.registers,
    truth.bits,
    truth.block,
    "multiply",
    "table",
    "drop",
  ];
  return known.find((one) => values.includes(one)) ?? "?";
}

function compare(
  { signals }: GeneratedList,
  { tags, out }: { readonly tags: readonly Tag[]; readonly out: string },
  { counts, wrong }: { readonly counts: ListCounts; readonly wrong: (why: string) => void },
): void {
  const made = new Map(tags.map((tag) => [tag.name, tag]));
  for (const signal of signals) {
    const tag = made.get(signal.tag);
    made.delete(signal.tag);
    if (tag === undefined) {
      counts.left += 1;
      if (!signal.isElsewhere) wrong(`${signal.name} is left out: ${out}`);
      continue;
    }
    const faults = faultsOf(signal, tag);
    if (faults.length === 0) counts.right += 1;
    else wrong(`${signal.name}: ${faults.join("; ")}`);
  }
  if (made.size > 0) wrong(`nobody listed ${[...made.keys()].join(", ")}`);
}

function faultsOf(signal: Signal, tag: Tag): readonly string[] {
  const place = (address: string, bit: number | undefined): string => `${address}${bit === undefined ? "" : `.${bit}`}`;
  const pairs: readonly (readonly [string, unknown, unknown])[] = [
    ["place", place(tag.address, tag.bit), place(`${signal.table}:${signal.address}`, signal.bit)],
    ["type", tag.type, signal.type],
    ["scale", tag.scale ?? 1, signal.scale],
    ["offset", tag.offset ?? 0, signal.offset],
    // Numbers of cycles and starts need no unit.
    ["unit", ["cycles", "starts"].includes(tag.unit ?? "") ? null : (tag.unit ?? null), signal.unit],
    ["role", tag.role === undefined || tag.role === signal.role, true],
    ["label", signal.label === "" || tag.label === signal.label, true],
  ];
  const isElsewhere = signal.isElsewhere ? ["it is in a block that the PLC doesn't serve"] : [];
  const differing = pairs.filter(([, is, should]) => is !== should);
  return [
    ...isElsewhere,
    ...differing.map(([what, is, should]) => `${what} is ${String(is)}, should be ${String(should)}`),
  ];
}
