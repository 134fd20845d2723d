import { expect, it } from "vitest";
import type { LocalBooth } from "../../../src/api/report.ts";
import { recordsOf } from "../../../src/acquisition/rules/records.ts";
import { openReportsThread, type ReportsThread } from "../../../src/store/thread/reports-thread.ts";
import { script, stay, T0 } from "../../support/booth.ts";
import { localBooth, requestAt } from "../../support/figures.ts";
import { PLAIN } from "../../support/parameters.ts";
import { writerIn } from "../../support/store.ts";
import { temporaryFolder } from "../../support/temporary.ts";

const HOURS = 30;

/** Makes a store whose export needs more than one part, and its reports thread. */
function threadOver(): {
  readonly thread: ReportsThread;
  /** Counts how often a part waited for a gap between polls. */
  readonly waits: { readonly of_parts: number };
  readonly booths: readonly LocalBooth[];
  readonly readings: number;
} {
  const folder = temporaryFolder();
  const booth = script(PLAIN);
  let readings = 0;
  for (let turn = 0; turn < HOURS * 60; turn += 1) {
    stay(booth, 60_000, { mode: turn % 2 === 0 ? 3 : 4, other: `a longer value ${turn.toString().repeat(4)}` });
    readings += 2;
  }
  const writer = writerIn(folder);
  const { stream } = writer.openStream("booth-1");
  writer.ingest(
    stream,
    recordsOf(booth.entries, () => 15_000),
    booth.entries.length,
  );
  writer.close();
  const waits = { of_parts: 0 };
  const thread = openReportsThread(
    new URL("../../../src/runtime/reports-worker.ts", import.meta.url),
    { dataDir: folder },
    () => Promise.resolve(void (waits.of_parts += 1)),
  );
  return { thread, waits, booths: [localBooth({ stream } as never)], readings };
}

it("the reports thread streams a long export in parts, serves other reports in between, and survives readers that stop early", async () => {
  const { thread, waits, booths, readings } = threadOver();
  const now_ms = T0 + HOURS * 3_600_000;
  const query = { start: new Date(T0).toISOString() };
  const csv = requestAt({ path: "/api/booths/b-1/export_csv", query, booths, now_ms });
  const runtime = requestAt({ path: "/api/booths/b-1/runtime", query, booths, now_ms });

  const parts: Buffer[] = [];
  const { status, body } = await thread.ask(csv);
  for await (const part of body) {
    parts.push(Buffer.from(part));
    // During the export another report is answered.
    if (parts.length === 1) expect((await thread.ask(runtime)).status).toBe(200);
  }
  expect([status, parts.length > 1]).toEqual([200, true]);
  expect(waits.of_parts).toBe(parts.length - 1);
  expect(Buffer.concat(parts).toString().split("\n").length - 2).toBe(readings);

  // Many readers that stop at once, before or after the first part, leave nothing that blocks the next.
  for (let turn = 0; turn < 40; turn += 1) {
    const left = (await thread.ask(csv)).body[Symbol.asyncIterator]();
    if (turn % 2 === 0) await left.next();
    await left.return?.();
  }
  expect((await thread.ask(runtime)).status).toBe(200);
  const crowd = await Promise.allSettled(Array.from({ length: 40 }, () => thread.ask(csv)));
  expect(crowd.filter((one) => one.status === "rejected")).toHaveLength(24);
  await thread.close();
});

it("a reports thread that can't open the store rejects each request, and the next request starts a new thread", async () => {
  const thread = openReportsThread(new URL("../../../src/runtime/reports-worker.ts", import.meta.url), {
    dataDir: temporaryFolder(),
  });
  const ask = requestAt({ path: "/api/booths", query: {}, booths: [], now_ms: 0 });
  await expect(thread.ask(ask)).rejects.toThrow(/open/);
  await expect(thread.ask(ask)).rejects.toThrow(/open/);
  await thread.close();
});
