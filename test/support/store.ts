import { openStoreFile } from "../../src/store/open.ts";
import { deriveFold, type Fold } from "../../src/store/facts/fold.ts";
import { createWriter, type Writer } from "../../src/store/thread/writer.ts";
import type { Placed } from "../../src/domain/record.ts";

/** The real writer on a real file, in this thread, with names and times that repeat. */
export function writerIn(folder: string, fold: Fold = deriveFold): Writer {
  let count = 0;
  return createWriter({
    db: openStoreFile(folder),
    fold,
    now: () => 0,
    wall: () => count,
    uuid: () => `00000000-0000-4000-8000-${(++count).toString().padStart(12, "0")}`,
  });
}

const READ_LIMIT = 1_000;

export interface OwnRecords {
  readonly stream: string;
  readonly newest_seq: number;
  readonly last_take: number;
  readonly records: readonly Placed[];
}

/** Everything that the agent's own store holds of its one stream, in seq order. */
export function ownRecords(dataDir: string): OwnRecords {
  const writer = writerIn(dataDir);
  try {
    const { stream, newest_seq, oldest_seq, last_take } = writer.openStream("booth-1");
    const records: Placed[] = [];
    for (let from = oldest_seq; from <= newest_seq;) {
      const more = writer.read(stream, from, READ_LIMIT);
      records.push(...more);
      from = (more.at(-1)?.seq ?? newest_seq) + 1;
    }
    return { stream, newest_seq, last_take, records };
  } finally {
    writer.close();
  }
}
