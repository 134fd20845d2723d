import type { Placed } from "../../src/domain/record.ts";
import { writerIn } from "./store.ts";

const READ_LIMIT = 1_000;

/** Everything that the agent's own store holds of its one stream, in seq order. */
export function ownRecords(dataDir: string): { stream: string; last_take: number; records: readonly Placed[] } {
  const writer = writerIn(dataDir);
  try {
    const { stream, newest_seq, last_take } = writer.openStream("booth-1");
    const records: Placed[] = [];
    while (records.length < newest_seq) {
      const more = writer.read(stream, records.length + 1, READ_LIMIT);
      if (more.length === 0) break;
      records.push(...more);
    }
    return { stream, last_take, records };
  } finally {
    writer.close();
  }
}
