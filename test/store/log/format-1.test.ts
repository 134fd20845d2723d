import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import type { LogRecord, Placed } from "../../../src/domain/record.ts";
import type { Start } from "../../../src/store/log/chunk.ts";
import { kindsIn, packedSeqs, unpackRecords } from "../../../src/store/log/format-1.ts";
import { packOldRow } from "../../support/old-rows.ts";
import { runsOfSeqs } from "../../../src/store/log/missing.ts";

interface Kept {
  readonly start: Start;
  readonly packed: string;
  readonly records: readonly Placed<LogRecord>[];
}

/** Rows as the code that wrote that format made them, with what went in. */
const ROWS = JSON.parse(readFileSync(new URL("format-1.json", import.meta.url), "utf8")) as readonly Kept[];

it.each(ROWS)("rows of the format of before give what went in: boot $start.boot", ({ start, packed, records }) => {
  const bytes = Buffer.from(packed, "base64");
  expect(unpackRecords(start, bytes, () => true)).toEqual(records);
  const tag = records[0]?.tag ?? "";
  expect(unpackRecords(start, bytes, (_, one) => one === tag)).toEqual(records.filter((one) => one.tag === tag));
  expect(packedSeqs(start, bytes)).toEqual(runsOfSeqs(records.map(({ seq }) => seq)));
  expect(new Set(kindsIn(bytes))).toEqual(new Set(records.map(({ kind }) => kind)));
});

it.each(ROWS)("rows that tests write in it are read alike: boot $start.boot", ({ start, records }) => {
  const bytes = packOldRow(start, records);
  expect(unpackRecords(start, bytes, () => true)).toEqual(records);
  expect(packedSeqs(start, bytes)).toEqual(runsOfSeqs(records.map(({ seq }) => seq)));
});
