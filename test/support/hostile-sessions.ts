import { expect } from "vitest";
import { recordFault } from "./faults.ts";
import { accountAt, hostileBroker, impatientLink } from "./hostile-broker.ts";
import { THREE_RECORDS } from "./records.ts";
import { seededRandom } from "./seeded-random.ts";
import { seedOf } from "./seed.ts";

const AT_ONCE = 50;
/** Longer than any deadline of the link: a session that isn't over by then never will be. */
const WITHIN_MS = 30_000;

type End = "refused" | "lost" | "kept" | "acked";

/** One session with it, to its end. */
async function session(url: string): Promise<End> {
  const within = AbortSignal.timeout(WITHIN_MS);
  const opened = await impatientLink()
    .connect(accountAt(url), within)
    .catch(() => null);
  if (opened === null) return "refused";
  // Nobody confirms it in the end: the deadline of a publish is longer than this session.
  opened.hello([]).catch(() => undefined);
  const outcome = await opened.send("s", 1, THREE_RECORDS);
  await opened.close();
  if (outcome.kind === "acked") return "acked";
  return outcome.kind === "keep" && outcome.reason === "no ack in time" ? "kept" : "lost";
}

/** So many sessions with a broker whose every other packet is spoilt: each ends, none brings the agent down, none moves a cursor. */
export async function surviveHostilePackets(sessions: number): Promise<void> {
  const random = seededRandom(seedOf("hostile packets"));
  const broker = await hostileBroker(random);
  const ends: Record<End, number> = { refused: 0, lost: 0, kept: 0, acked: 0 };
  for (let begun = 0; begun < sessions; begun += AT_ONCE) {
    const some = await Promise.all(Array.from({ length: AT_ONCE }, () => session(broker.url)));
    for (const end of some) ends[end] += 1;
  }
  process.stdout.write(`hostile packets: ${broker.spoilt().toString()} in ${JSON.stringify(ends)}\n`);
  const passed = ends.acked === 0;
  const fault = "hostile MQTT packets";
  recordFault({ row: 36, fault, injected: broker.spoilt(), lost: 0, doubled: 0, wrong: ends.acked, passed });
  expect(ends.acked).toBe(0);
  expect(ends.refused).toBeGreaterThan(sessions / 20);
  expect(ends.lost + ends.kept).toBeGreaterThan(sessions / 20);
}
