import { expect, it } from "vitest";
import { openReader } from "../../src/store/reader.ts";
import { script, stay } from "../support/booth.ts";
import { PLAIN } from "../support/parameters.ts";
import { ingestEntries, writerIn } from "../support/store.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

const EVER = { start: 0, end: Infinity };

it("after each commit, a reader that is already open returns the same stages and readings as a new reader", () => {
  const folder = temporaryFolder();
  const writer = writerIn(folder);
  const { stream } = writer.openStream("booth-1");
  const booth = script(PLAIN);
  const asked = openReader(folder);
  const stages: number[] = [];
  for (const [turn, mode] of [3, 4, 4, 5, 6, 3].entries()) {
    stay(booth, 90 * MINUTE_MS, { mode, other: turn % 4 });
    ingestEntries(writer, booth.entries, { sizes: [Infinity] });
    const reader = openReader(folder);
    expect(asked.stages(stream, EVER)).toEqual(reader.stages(stream, EVER));
    reader.close();
    stages.push(asked.stages(stream, EVER).length);
    const log = [...asked.log(stream, EVER)].filter(({ kind }) => kind === "r");
    expect([...asked.readings(stream, EVER)].map(({ seq }) => seq)).toEqual(log.map(({ seq }) => seq));
    expect([...asked.readings(stream, EVER, new Set(["other"]))]).toMatchObject(
      log
        .filter(({ tag }) => tag === "other")
        .map(({ seq, boot, mono, tag, value, quality, time }) => ({ seq, boot, mono, tag, value, quality, time })),
    );
  }
  // Some commits close a stage, others only add to the open one.
  expect(stages).toEqual([0, 0, 1, 1, 2, 3]);
  asked.close();
  writer.close();
});
