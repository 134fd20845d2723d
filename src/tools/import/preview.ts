import { type Text } from "../../domain/message.ts";
import type { Call } from "../command.ts";
import { type Draft, openDraft, protocolOf, quirksOf } from "../profile/file.ts";
import { entryMaker, type LiveOf, readRows } from "../profile/import.ts";
import { isCrossed, placeOf, placeText } from "../rules/list-places.ts";
import { nextQuestion, type ReadingAnswers, readingOf } from "../rules/list-reading.ts";
import { numberStyleOf } from "../rules/list-values.ts";
import { COLUMN_KINDS, type ListColumn, type ListRow, type RegisterList } from "../rules/register-list.ts";
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
  return {
    maker: list.maker,
    columns: list.all,
    kinds: COLUMN_KINDS,
    rows: named.map(({ line, cells: { name = "", type = "", unit = "", label = "", ...at } }) => {
      const address = at.modbus ?? at.address ?? at.address_hex ?? at.node ?? "";
      return [line, name, address, type, unit, label] as const;
    }),
    ...(await samplesOf({ ...list, rows: named }, { call, draft, liveOf })),
  };
}

/** Returns the first answer to each question about a list, so that samples can be shown before the user answers. */
function likelyAnswers(given: Parameters<typeof nextQuestion>[0]): ReadingAnswers {
  let answers: ReadingAnswers = {};
  for (let open = nextQuestion(given, answers); open !== null; open = nextQuestion(given, answers))
    answers = { ...answers, ...open.choices[0]?.answers };
  return answers;
}

async function samplesOf(
  list: RegisterList,
  { call, draft, liveOf }: { readonly call: Call; readonly draft: Draft; readonly liveOf: LiveOf },
): Promise<Pick<ListPreview, "samples" | "is_open">> {
  const nameOf = ({ cells: { name = "" } }: ListRow): string => name;
  if (protocolOf(draft) === "opcua") {
    const shown = list.rows.slice(0, MOST_SAMPLES);
    const samples = shown.map((row) => ({ name: nameOf(row), place: row.cells.node ?? "", value: null }));
    return { samples, is_open: false };
  }
  const quirks = quirksOf(draft);
  const { rows } = readRows(list, { words: new Map(), isCrossedList: isCrossed(list) });
  const given = { rows, tables: quirks.tables };
  const open = nextQuestion(given, {});
  const reading = readingOf(given, likelyAnswers(given));
  const style = numberStyleOf(list);
  const entryAt = entryMaker(list, { quirks, style });
  const placed = rows.slice(0, MOST_SAMPLES).map((read) => {
    const place = placeOf(read, reading);
    return "message" in place
      ? { name: nameOf(read.row), place: place.message, entry: null }
      : { name: nameOf(read.row), place: placeText(place), entry: entryAt(read, place) };
  });
  const values = (await liveOf(call, draft)(placed.flatMap(({ entry }) => entry ?? [])))?.values();
  const samples = placed.map(({ name, place, entry }) => ({
    name,
    place,
    value: entry === null ? null : (values?.next().value ?? null),
  }));
  return { samples, is_open: open !== null || style.scale === null };
}
