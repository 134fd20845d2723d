import { decoded } from "../../../src/tools/import/read.ts";
import { LAST_ADDRESS, type ModbusTable } from "../../../src/domain/profile.ts";
import { notationOf, placeOf, type ReadRow, tableOf } from "../../../src/tools/rules/list-places.ts";
import { nextQuestion, type ReadingAnswers, readingOf } from "../../../src/tools/rules/list-reading.ts";
import { numberStyleOf, scalingOf } from "../../../src/tools/rules/list-values.ts";
import { type RegisterList, registerList, typeNamed } from "../../../src/tools/rules/register-list.ts";
import type { Judge, Target } from "../target.ts";

/** Maximum number of questions: each question settles another option. */
const MOST_QUESTIONS = 6;

function rowsOf(list: RegisterList): readonly ReadRow[] {
  const words: ReadonlyMap<string, ModbusTable> = new Map();
  return list.rows.flatMap((row) => {
    const type = typeNamed(row.cells);
    const table = type === null ? null : tableOf(row, list, { type, words });
    if (type === null || (table !== null && typeof table === "object")) return [];
    return [{ row, type, notation: notationOf(row, list, { type, table, crossed: false }) }];
  });
}

const judge: Judge = (input) => {
  const list = registerList(decoded(input));
  if (list === null || "excess" in list) return "refused";
  const rows = rowsOf(list);
  let answers: ReadingAnswers = {};
  for (let asked = 0; ; asked += 1) {
    const [first] = nextQuestion({ rows }, answers)?.choices ?? [];
    if (first === undefined) break;
    if (asked === MOST_QUESTIONS) return { wrong: "it asks without an end" };
    answers = { ...answers, ...first.answers };
  }
  const reading = readingOf({ rows }, answers);
  const style = numberStyleOf(list);
  for (const one of rows) {
    const place = placeOf(one, reading);
    const isOutside = !("message" in place) && !(place.address >= 0 && place.address <= LAST_ADDRESS);
    if (isOutside) return { wrong: `line ${one.row.line} has no place` };
    const scaling = scalingOf(one.row, style);
    if (typeof scaling !== "string" && !(Number.isFinite(scaling.scale) && Number.isFinite(scaling.offset)))
      return { wrong: `line ${one.row.line} has no scale` };
  }
  return rows.length === 0 ? "refused" : "taken";
};

/** Register lists in the formats that users export. */
export const lists: Target = { name: "lists", format: "text", ci_runs: 1_500, open: () => judge };
