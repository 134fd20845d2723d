import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Fold } from "../../src/store/facts/fold.ts";
import type { KeptStore } from "../../src/store/thread/keeper.ts";
import { freshPath } from "../../src/store/replace.ts";
import { countingFold } from "./busy-log.ts";
import { clockRecord, reading } from "../support/records.ts";
import { keptStoreIn } from "../support/store.ts";
import { temporaryFolder } from "../support/temporary.ts";

/**
 * Makes a store with two takes. The third take finds damage that can't be salvaged, because the new file can't be
 * written.
 */
function strandedStore(): {
  readonly store: KeptStore;
  readonly mend: () => void;
  readonly take: (n: number) => unknown;
} {
  const dataDir = temporaryFolder();
  const disk = { isDamaged: false };
  const counting = countingFold(50);
  const fold: Fold = {
    ...counting,
    step(state, record) {
      if (disk.isDamaged) throw Object.assign(new Error("malformed"), { code: "SQLITE_CORRUPT" });
      return counting.step(state, record);
    },
  };
  const store = keptStoreIn(dataDir, { fold });
  const take = (number: number): unknown => store.ingest("s-1", [reading(number * 1_000, "number", number)], number);
  store.openStream("booth-1");
  store.ingest("s-1", [clockRecord(0)], 1);
  take(2);
  mkdirSync(join(freshPath(dataDir), "in-the-way"), { recursive: true });
  disk.isDamaged = true;
  expect(() => take(3)).toThrow();
  return {
    store,
    take,
    mend() {
      disk.isDamaged = false;
      rmSync(freshPath(dataDir), { recursive: true });
    },
  };
}

it("a salvage that fails because the new file can't be written is repeated later", () => {
  const { store, mend, take } = strandedStore();
  mend();
  take(3);
  expect(store.info("s-1").newest_seq).toBeGreaterThanOrEqual(3);
  store.close();
});

it("a store that waits for its salvage closes without an error", () => {
  const { store } = strandedStore();
  expect(() => store.close()).not.toThrow();
});
