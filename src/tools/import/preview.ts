import { type Text } from "../../domain/message.ts";
import type { Call } from "../command.ts";
import type { ModbusQuirks } from "../../domain/profile.ts";
import { entryOf, openDraft, protocolOf, quirksOf, type TagEntry } from "../profile/file.ts";
import { entryMaker, type LiveOf, nodeType, readRows } from "../profile/import.ts";
import { isCrossed, placeOf, placeText } from "../rules/list-places.ts";
import { nextQuestion, type ReadingAnswers, readingOf } from "../rules/list-reading.ts";
import { numberStyleOf } from "../rules/list-values.ts";
import { COLUMN_KINDS, type ListColumn, type RegisterList } from "../rules/register-list.ts";
import { listFrom } from "./list.ts";

/** A list as it is shown before its import. */
export interface ListPreview {
  readonly maker: string;
  readonly columns: readonly ListColumn[];
  /** All kinds of columns. */
  readonly kinds: readonly string[];
  /** The rows that have a name: line, name, address, type, unit and label. */
  readonly rows: readonly (readonly [line: number, ...cells: string[]])[];
  /** Three rows with the places at which they are read, and the values that the PLC has there now. */
  readonly samples: readonly { readonly name: string; readonly place: Text; readonly value: string | null }[];
  /** True if the import must ask how the list counts. The places of the samples then follow the first answers. */
  readonly is_open: boolean;
}

const MOST_SAMPLES = 3;

/** Reads a list and shows how it is understood, without any question. */
export async function previewOf(call: Call, file: string, liveOf: LiveOf): Promise<ListPreview> {
  const draft = openDraft(call.values);
  const list = await listFrom(call, file, null);
  const named = list.rows.filter(({ cells }) => cells.name !== undefined);
  const shown = { ...list, rows: named };
  const isNodes = protocolOf(draft) === "opcua";
  const { placed, is_open } = isNodes ? nodeSamples(shown) : registerSamples(shown, quirksOf(draft));
  const values = (await liveOf(call, draft)(placed.flatMap(({ entry }) => entry ?? [])))?.values();
  return {
    maker: list.maker,
    columns: list.all,
    kinds: COLUMN_KINDS,
    rows: named.map(({ line, cells: { name = "", type = "", unit = "", label = "", ...at } }) => {
      const address = at.modbus ?? at.address ?? at.address_hex ?? at.node ?? "";
      return [line, name, address, type, unit, label] as const;
    }),
    samples: placed.map(({ name, place, entry }) => ({
      name,
      place,
      value: entry === null ? null : (values?.next().value ?? null),
    })),
    is_open,
  };
}

/** Returns the first answer to each question about a list, so that samples can be shown before the user answers. */
function likelyAnswers(given: Parameters<typeof nextQuestion>[0]): ReadingAnswers {
  let answers: ReadingAnswers = {};
  for (let open = nextQuestion(given, answers); open !== null; open = nextQuestion(given, answers))
    answers = { ...answers, ...open.choices[0]?.answers };
  return answers;
}

/** A row as a sample; `entry` is null if the row can't be read. */
interface Sample {
  readonly name: string;
  readonly place: Text;
  readonly entry: TagEntry | null;
}

interface Samples {
  readonly placed: readonly Sample[];
  readonly is_open: boolean;
}

function nodeSamples({ rows }: RegisterList): Samples {
  const placed = rows.slice(0, MOST_SAMPLES).map(({ cells }): Sample => {
    const { name = "", node = "" } = cells;
    const type = nodeType(cells);
    return { name, place: node, entry: type === null ? null : entryOf({ name: "row", group: "fast", type, node }) };
  });
  return { placed, is_open: false };
}

function registerSamples(list: RegisterList, quirks: ModbusQuirks): Samples {
  const { rows } = readRows(list, { words: new Map(), isCrossedList: isCrossed(list) });
  const given = { rows, tables: quirks.tables };
  const reading = readingOf(given, likelyAnswers(given));
  const style = numberStyleOf(list);
  const entryAt = entryMaker(list, { quirks, style });
  const placed = rows.slice(0, MOST_SAMPLES).map((read): Sample => {
    const place = placeOf(read, reading);
    const { name = "" } = read.row.cells;
    if ("message" in place) return { name, place: place.message, entry: null };
    return { name, place: placeText(place), entry: entryAt(read, place) };
  });
  return { placed, is_open: nextQuestion(given, {}) !== null || style.scale === null };
}
