import { createIntake } from "../../../src/acquisition/intake.ts";
import { openTail } from "../../../src/acquisition/tail.ts";
import { recordsOf } from "../../../src/acquisition/rules/records.ts";
import type { Sample, TakenEntry } from "../../../src/domain/taken.ts";
import { PLAIN } from "../../support/parameters.ts";
import { clockRecord, T0 } from "../../support/records.ts";
import { writerIn } from "../../support/store.ts";
import { temporaryFolder } from "../../support/temporary.ts";

/** A tag without parameters is logged anew after this long: here with every poll. */
const HEARTBEAT_MS = 900_000;
const PAGE = 100;

export interface Settled {
  /** Values that the device served. */
  readonly served: number;
  readonly lost: number;
  readonly doubled: number;
  /** Other values than the served ones, and values that nobody served. */
  readonly wrong: number;
}

export interface Ledger {
  /**
   * One poll of a device in which these values stand: what `read` brings goes by intake and tail to the store. Rejects as
   * `read` does; then the device has served nothing, and nothing of it may be stored.
   */
  poll(truth: readonly Pick<Sample, "tag" | "value">[], read: () => Promise<readonly Sample[]>): Promise<void>;
  /** Commits, reads the log back from its file, and holds it against what was served, value by value. */
  settle(): Settled;
}

/** What a device served against what stands in the store's file. Each poll has an instant of its own. */
export function ledger(): Ledger {
  const folder = temporaryFolder();
  const tail = openTail(folder);
  const before = writerIn(folder);
  const info = before.openStream("booth-1");
  const taken: TakenEntry[] = [];
  const served = new Map<string, unknown>();
  const untold = { ...PLAIN, tags: {} };
  let mono = 0;
  const intake = createIntake(
    {
      clock: {
        boot: "b1",
        mono: () => mono,
        wall: () => T0 + mono,
      },
      tail,
      stream: info,
      parameters: () => untold,
      identity: null,
      isFull: () => false,
      taken: (entry) => void taken.push(entry),
    },
    0,
  );
  return {
    async poll(truth, read) {
      mono += HEARTBEAT_MS;
      intake.answered(new Map([["fast", await read()]]));
      for (const { tag, value } of truth) served.set(`${mono} ${tag}`, value);
    },
    settle() {
      tail.close();
      const records = recordsOf(taken, () => HEARTBEAT_MS);
      before.ingest(info.stream, [clockRecord(0), ...records], taken.at(-1)?.take ?? 0);
      before.close();
      const after = writerIn(folder);
      const stored: (readonly [string, unknown])[] = [];
      for (let seq = 1; seq <= after.info(info.stream).newest_seq;) {
        const page = after.read(info.stream, seq, PAGE);
        for (const { kind, mono: at, tag, value } of page) if (kind === "r") stored.push([`${at} ${tag}`, value]);
        seq += Math.max(1, page.length);
      }
      after.close();
      return compared(served, stored);
    },
  };
}

function compared(served: ReadonlyMap<string, unknown>, stored: readonly (readonly [string, unknown])[]): Settled {
  const found = new Map(stored);
  const lost = [...served.keys()].filter((key) => !found.has(key)).length;
  const wrong = stored.filter(([key, value]) => !served.has(key) || served.get(key) !== value).length;
  return { served: served.size, lost, doubled: stored.length - found.size, wrong };
}
