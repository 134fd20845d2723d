import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { contentLine, canonical } from "../../simulators/service/ingest/canonical.ts";
import type { LogReach } from "../../src/domain/booth-state.ts";
import { emptyRow } from "../../src/domain/provisioning.ts";
import type { LogChunk, Placed, StreamRecord } from "../../src/domain/record.ts";
import { createSignals } from "../../src/domain/signal.ts";
import { newDelivery, type DeliveredBooth } from "../../src/delivery/context.ts";
import type { BatchOutcome, LinkSession } from "../../src/delivery/port.ts";
import { runSender } from "../../src/delivery/sender.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { unpackChunk } from "../../src/store/log/chunk.ts";
import type { Writer } from "../../src/store/thread/writer.ts";
import { fillStore, STREAM } from "../support/filled-store.ts";
import { inlineStore } from "../../simulators/virtual/store.ts";
import { silentLog } from "../support/silent-log.ts";
import { writerIn } from "../support/store.ts";
import { memoryFolder } from "../support/temporary.ts";

/** Some ten chunks with facts among their records. */
const DAYS = 0.08;
const FIRST = 1;

let writer: Writer;
let newest = 0;
const undos: (() => unknown)[] = [];
/** Each record of the log as the service tells content apart. */
const lines = new Map<number, string>();

beforeAll(() => {
  const folder = memoryFolder((undo) => void undos.push(undo));
  fillStore(folder, DAYS, { has_facts: true });
  writer = writerIn(folder);
  newest = writer.openStream("booth-1").newest_seq;
  for (let from = FIRST; from <= newest;) {
    const more = writer.read(STREAM, from, 5_000);
    for (const record of more) lines.set(record.seq, lineOf(record));
    from = (more.at(-1)?.seq ?? newest) + 1;
  }
});
afterAll(() => {
  writer.close();
  for (const undo of undos) undo();
});

function lineOf({ kind, tag, boot, mono, value, quality }: StreamRecord): string {
  return contentLine({ kind, tag, boot, mono, quality, value: canonical(value) });
}

/** What the service makes of what it is sent, once. `kept`, `lost`: nothing comes back, and it was stored, or wasn't. */
type Answer = "acked" | "rejects" | "refused" | "conflict" | "kept" | "lost";

/** A service that stores what it says, and counts what it is given. */
function service(answers: readonly Answer[]) {
  const held = new Map<number, string>();
  const given = { chunks: 0, of_chunks: 0, others: 0, rejected: new Set<number>() };
  let asked = 0;
  const store = (records: readonly (StreamRecord & { readonly seq: number })[]): void => {
    for (const record of records) {
      const before = held.get(record.seq);
      expect(before ?? lineOf(record)).toBe(lineOf(record));
      held.set(record.seq, lineOf(record));
    }
  };
  const answer = async (
    records: readonly (StreamRecord & { readonly seq: number })[],
    said: Answer,
  ): Promise<BatchOutcome> => {
    for (let turns = asked % 5; turns >= 0; turns -= 1) await turn();
    const seqs = records.map(({ seq }) => seq);
    if (said === "refused") return { kind: "refused", reason: "malformed: n" };
    if (said === "conflict")
      return { kind: "conflict", rejected: [], is_proven: false, held_seq: newest, seq: seqs[0] ?? 0 };
    if (said === "lost") return { kind: "keep", reason: "no ack in time", is_silent: true };
    const rejected = said === "rejects" ? seqs.slice(7, 9) : [];
    for (const seq of rejected) given.rejected.add(seq);
    store(records.filter(({ seq }) => !rejected.includes(seq)));
    if (said === "kept") return { kind: "keep", reason: "no ack in time", is_silent: true };
    const held_seq = [...held.keys()].reduce((most, seq) => Math.max(most, seq), 0);
    return { kind: "acked", rejected: rejected.map((seq) => ({ seq, reason: "no" })), is_proven: true, held_seq };
  };
  const session = (): Pick<LinkSession, "send" | "sendChunk" | "takesChunks" | "window"> => ({
    window: () => 4,
    takesChunks: () => true,
    send: (_, __, records) => {
      given.others += records.length;
      return answer(records, "acked");
    },
    sendChunk: (_, __, chunk) => {
      given.chunks += 1;
      given.of_chunks += chunk.to - chunk.from + 1;
      return answer(recordsIn(chunk), answers[asked++] ?? "acked");
    },
  });
  return { held, given, session };
}

function recordsIn({ first_seq, boot, mono0, t0, body, facts }: LogChunk): Placed[] {
  const records = unpackChunk({ first_seq, boot, mono0, t0 }, Buffer.from(body), () => true);
  return [...records, ...facts].sort((a, b) => a.seq - b.seq);
}

/** Delivers all of the log, in as many sessions as it takes. */
async function deliver(session: ReturnType<typeof service>["session"]) {
  const clock = systemClock();
  const log = { reach: writer.resend(STREAM, FIRST) as LogReach };
  const ending = new AbortController();
  const cursorMoved = (acked_seq: number): void => {
    expect(acked_seq).toBeGreaterThanOrEqual(log.reach.acked_seq);
    log.reach = { ...log.reach, acked_seq };
    if (acked_seq >= newest) ending.abort(new Error("delivered"));
  };
  const row = { ...emptyRow(0), generation: 1, stream: { id: "stream-1", from_seq: 1, predecessor: null } };
  const delivery = newDelivery({ count: 0, newest: null });
  const state = {
    booth: "booth-1",
    address: "",
    ...createSignals(clock),
    delivery: { in_session: true },
    link: { plc: { kind: "up", since: 0 }, answered: 0, shows_serial: null },
    binding: { row, drift: "", lookAgain: () => undefined },
    log: Object.assign(log, { cursorMoved }) as DeliveredBooth["state"]["log"],
  } as DeliveredBooth["state"];
  const rename = (): Promise<void> => Promise.reject(new Error("given another name"));
  const gateway = { clock, store: inlineStore(writer), log: silentLog, backlog_rate: null, rename };
  let sessions = 0;
  for (; !ending.signal.aborted && sessions < 50; sessions += 1) {
    const sent = { gateway, session: session(), proven: () => undefined, booth: { delivery, state } };
    await runSender(sent, ending.signal).catch((error: unknown) => {
      if (!ending.signal.aborted && !(error instanceof Error && error.message.startsWith("no ack"))) throw error;
    });
  }
  return { sessions, acked_seq: log.reach.acked_seq };
}

it("a log that waited goes in chunks but for its first batch and its last row, and each record once", async () => {
  const { held, given, session } = service([]);
  expect(await deliver(session)).toEqual({ sessions: 1, acked_seq: newest });
  expect(held).toEqual(lines);
  expect(given.of_chunks + given.others).toBeLessThan(newest + 100);
  expect(given.others).toBeLessThan(10_000);
  expect(given.chunks).toBeGreaterThan(5);
});

it("whatever becomes of chunks, each record arrives as it is or stays aside as refused, and the log keeps its name", async () => {
  const answers = fc.array(
    fc.constantFrom<Answer>("acked", "acked", "acked", "rejects", "refused", "conflict", "kept", "lost"),
    { maxLength: 12 },
  );
  await fc.assert(
    fc.asyncProperty(answers, async (said) => {
      const { held, given, session } = service(said);
      const { sessions, acked_seq } = await deliver(session);
      expect(acked_seq).toBe(newest);
      expect(sessions).toBeLessThanOrEqual(1 + said.filter((one) => one === "kept" || one === "lost").length);
      const aside = [...given.rejected].filter((seq) => !held.has(seq));
      expect(held.size + aside.length).toBe(lines.size);
      for (const [seq, line] of held) expect(line).toBe(lines.get(seq));
    }),
    { numRuns: 12 },
  );
});

it("a service that takes none of its chunks gets all in batches after three", async () => {
  const { held, given, session } = service(Array.from({ length: 100 }, () => "refused" as const));
  expect((await deliver(session)).acked_seq).toBe(newest);
  expect(held).toEqual(lines);
  // As many as its window lets be under way before the third answer.
  expect(given.chunks).toBeLessThanOrEqual(18);
});
