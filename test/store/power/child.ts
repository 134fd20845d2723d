import { MessageError } from "../../../src/domain/messages/message-error.ts";
import { openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { createCommitter, NO_LEFTOVER } from "../../../src/acquisition/committer.ts";
import type { TakenEntry } from "../../../src/domain/taken.ts";
import { systemClock } from "../../../src/runtime/clock.ts";
import { systemRandom } from "../../../src/runtime/compose.ts";
import { openIdentity } from "../../../src/store/identity/identity.ts";
import { inlineStore } from "../../../simulators/virtual/store.ts";
import { openTail } from "../../../src/acquisition/tail.ts";
import { seededRandom } from "../../support/seeded-random.ts";
import { BOOTH, markOf, entryOf, type Mark, writerOf } from "./power-bed.ts";

/**
 * The real committer, writer, tail and identity at work until so many commits are made. After each commit, and after each
 * change of the identity, a mark is written into the folder: what has been promised by then.
 */
const [folder = "", runtime = "", most = "0"] = process.argv.slice(2);
const commits = Number(most);
const random = seededRandom(commits);
const marks = openSync(join(folder, "marks"), "w");
let mark: Mark | null = null;
let made = 0;
let provisioned = 0;
let take = 0;

function say(next: Mark): void {
  mark = next;
  writeSync(marks, `${JSON.stringify(next)}\n`);
}

/** One life of the agent: it ends with a clean stop after so many commits in all. */
async function live(until: number): Promise<void> {
  const identity = openIdentity(folder, () => "gateway-1");
  const writer = writerOf(folder);
  const stream = writer.openStream(BOOTH);
  const tail = openTail(runtime);
  const stop = new AbortController();
  const next = (): void => {
    const group: TakenEntry[] = Array.from({ length: 1 + Math.floor(random.next() * 12) }, () =>
      entryOf(stream.stream, ++take),
    );
    for (const [index, entry] of group.entries()) {
      tail.append([entry]);
      committer.add(entry, index === group.length - 1);
    }
  };
  const committed = (): void => {
    made += 1;
    say(markOf(writer, provisioned));
    // The ack moves in leaps, as batches do, and stands still for a third of the time.
    if (made % 5 === 0 && made % 300 < 200) writer.ack(stream.stream, writer.info(stream.stream).newest_seq - 20);
    if (made % 40 === 0) {
      identity.setProvisioning(BOOTH, { number: provisioned + 1 });
      provisioned += 1;
      if (mark !== null) say({ ...mark, provisioned });
    }
    if (made >= until) stop.abort();
    else setImmediate(next);
  };
  const committer = createCommitter(
    {
      clock: systemClock(),
      random: systemRandom(),
      store: inlineStore(writer),
      tail,
      stream,
      interval_ms: 10_000,
      bridge: () => 5_000,
      committed,
      trouble: (reason) => {
        throw new MessageError(reason);
      },
    },
    NO_LEFTOVER,
  );
  next();
  await committer.run(stop.signal);
  const last = markOf(writer, provisioned);
  writer.close();
  say(last);
  identity.close();
  tail.close();
}

await live(Math.floor(commits / 2));
await live(commits);
