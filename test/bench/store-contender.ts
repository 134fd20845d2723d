import { fdatasyncSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { recordsOf } from "../../src/acquisition/rules/records.ts";
import type { TakenPoll } from "../../src/domain/taken.ts";
import { packLog } from "../../src/store/log/rows.ts";
import { PLAIN } from "../support/parameters.ts";
import { writerIn } from "../support/store.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { SIXTY_TAGS_T0, sixtyTags } from "../support/sixty-tags.ts";

/**
 * Stores the 60 tags of so many seconds, committed every so often, in one of two ways: `store`, the agent's; `file`, the same packed rows
 * appended to a file.
 */
const [way = "", folder = "", seconds = "0", every = "1"] = process.argv.slice(2);
const random = seededRandom(11);
const poll = sixtyTags("s", () => random.next());

/** Groups polls as the agent commits them: at once if the mode changed. */
function* groups(): Generator<TakenPoll[]> {
  let group: TakenPoll[] = [];
  for (let second = 0; second < Number(seconds); second += 1) {
    const one = poll();
    group.push(one);
    if (group.length < Number(every) && !one.changes.some(([tag]) => tag === "mode")) continue;
    yield group;
    group = [];
  }
}

function ours(): void {
  const writer = writerIn(folder);
  const { stream } = writer.openStream("booth-1");
  const stamp = { boot: "b1", mono: 0, at: SIXTY_TAGS_T0, tag: "", quality: "good" } as const;
  const clock = { ...stamp, kind: "t", value: { wall: SIXTY_TAGS_T0, state: "synced" } } as const;
  writer.ingest(stream, [clock, { ...stamp, kind: "p", value: PLAIN }], 1);
  for (const group of groups()) {
    const take = (group.at(-1)?.take ?? 0) + 1;
    const { newest_seq } = writer.ingest(
      stream,
      recordsOf(group, () => 5_000),
      take,
    );
    writer.ack(stream, newest_seq);
  }
  // Not closed: the writes of a stop are no part of a day.
}

function file(): void {
  const out = openSync(join(folder, "log"), "w");
  let seq = 0;
  for (const group of groups()) {
    const records = recordsOf(group, () => 5_000).map((record) => ({
      ...record,
      seq: ++seq,
      time: SIXTY_TAGS_T0 + record.mono,
    }));
    writeSync(out, packLog("s", records, true).packed);
    fdatasyncSync(out);
  }
}

if (way === "store") ours();
else file();
