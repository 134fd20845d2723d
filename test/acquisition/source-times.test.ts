import { expect, test } from "vitest";
import { createIntake } from "../../src/acquisition/intake.ts";
import { openTail } from "../../src/acquisition/tail.ts";
import { recordsOf } from "../../src/acquisition/rules/records.ts";
import type { Parameters } from "../../src/domain/parameters.ts";
import type { TakenEntry } from "../../src/domain/taken.ts";
import { batchOf } from "../../src/contract/telemetry.ts";
import { PLAIN } from "../support/parameters.ts";
import { clockRecord, T0 } from "../support/records.ts";
import { writerIn } from "../support/store.ts";
import { temporaryFolder } from "../support/temporary.ts";

const NOW = { boot: "b1", mono: () => 5000, wall: () => T0 + 5000 };

test("the device's time of a reading is stored in the log with the agent's time, but not sent to the service", () => {
  const folder = temporaryFolder();
  const tail = openTail(folder);
  const writer = writerIn(folder);
  const info = writer.openStream("booth-1");
  const taken: TakenEntry[] = [];
  const intake = createIntake(
    {
      clock: NOW,
      tail,
      stream: info,
      parameters: (): Parameters => PLAIN,
      identity: null,
      isFull: () => false,
      taken: (entry) => void taken.push(entry),
    },
    0,
  );
  const source_at = T0 + 4321;
  intake.answered(
    new Map([
      [
        "fast",
        [
          { tag: "mode", value: 3, quality: "good", source_at },
          {
            tag: "air_temperature",
            value: 21.5,
            quality: "uncertain",
            reason: "uncertain",
            source_at: T0 - 86_400_000,
          },
          { tag: "door", value: true, quality: "good" },
        ],
      ],
    ]),
  );
  tail.close();
  // After a crash, entries are read back from the file.
  const replayed = openTail(folder);
  expect(replayed.leftover()).toEqual(taken);
  const records = recordsOf(taken, () => 15_000);
  writer.ingest(info.stream, [clockRecord(0), ...records], 1);
  writer.close();
  const again = writerIn(folder);
  const readings = again.read(info.stream, 1, 10).flatMap((record) => (record.kind === "r" ? [record] : []));
  expect(readings.map(({ tag, at, source_at: source }) => [tag, at, source])).toEqual([
    ["mode", T0 + 5000, source_at],
    ["air_temperature", T0 + 5000, T0 - 86_400_000],
    ["door", T0 + 5000, undefined],
  ]);
  const batch = batchOf({ gateway_id: "g", generation: 1, stream: info.stream }, readings, T0);
  expect(JSON.stringify(batch)).not.toContain(String(source_at));
  again.close();
  replayed.close();
});
