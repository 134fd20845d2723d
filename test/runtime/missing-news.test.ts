import { render } from "../../src/domain/messages/render.ts";
import type { Logger } from "../../src/domain/machine.ts";
import { expect, it } from "vitest";
import { missingNews } from "../../src/runtime/booth.ts";
import { storageText } from "../../src/tools/texts.ts";
import type { StorageStatus } from "../../src/domain/status.ts";

const WELL: StorageStatus = {
  used_bytes: 1_000_000,
  max_bytes: 64_000_000,
  hours_to_full: null,
  quarantined: 0,
  health: { low: false, damaged_files: [] },
};
const SALVAGED: StorageStatus = {
  ...WELL,
  quarantined: 777,
  missing: [[101, 877]],
  health: { low: false, damaged_files: ["store.db.damaged-1"] },
};

it("records missing after a salvage are logged once with their sequence numbers, and again if more records are missing", () => {
  const lines: string[] = [];
  const note: Logger["warn"] = (_, text) => void lines.push(render(text));
  const silent = (): void => undefined;
  const tell = missingNews({ debug: silent, info: silent, warn: note, error: silent }, "booth-1");
  for (const storage of [
    WELL,
    SALVAGED,
    SALVAGED,
    {
      ...SALVAGED,
      quarantined: 780,
      missing: [
        [101, 877],
        [900, 902],
      ] as const,
    },
  ])
    tell(storage);
  expect(lines).toEqual([
    "booth-1: 777 records are missing because of damage in the store: seq 101 to 877; the damaged file is kept: store.db.damaged-1",
    "booth-1: 780 records are missing because of damage in the store: seq 101 to 877, 900 to 902; the damaged file is kept: store.db.damaged-1",
  ]);
});

it("the status text warns about missing records with their sequence numbers", () => {
  expect(storageText(WELL)).toBe("1.0 of 64.0 MB used");
  expect(storageText(SALVAGED)).toContain(
    "WARNING: 777 records are missing because of damage in the store: seq 101 to 877;",
  );
  expect(storageText({ ...SALVAGED, quarantined: 4_000 })).toContain(
    "4000 records are missing because of damage in the store; the newest of them: seq 101",
  );
});
