import { once } from "node:events";
import { MessageChannel, type MessagePort } from "node:worker_threads";
import { expect, it } from "vitest";
import type { StoreReader } from "../../src/store/port.ts";
import { serveReports, type ReportCall, type ReportReply } from "../../src/store/thread/reports-port.ts";
import { fold, script, stay, T0 } from "../support/booth.ts";
import { answerReport, requestAt, localBooth } from "../support/figures.ts";
import { PLAIN } from "../support/parameters.ts";
import { readerOf } from "../support/reader.ts";

const HOURS = 60;

/** Creates a reader that counts the records it reads from the log. */
function countedReader(): {
  readonly reader: StoreReader;
  readonly read: { records: number };
  readonly readings: number;
} {
  const booth = script(PLAIN);
  let readings = 0;
  for (let turn = 0; turn < HOURS * 60; turn += 1) {
    stay(booth, 60_000, { mode: turn % 2 === 0 ? 3 : 4, other: `a longer value ${turn.toString().repeat(4)}` });
    readings += 2;
  }
  const plain = readerOf(fold(booth.entries, PLAIN));
  const read = { records: 0 };
  const reader: StoreReader = {
    ...plain,
    *readings(stream, window, tags) {
      for (const record of plain.readings(stream, window, tags)) {
        read.records += 1;
        yield record;
      }
    },
  };
  return { reader, read, readings };
}

const REQUEST = requestAt({
  path: "/api/booths/b-1/export_csv",
  query: { start: new Date(T0).toISOString() },
  booths: [localBooth({ stream: "s" } as never)],
  now_ms: T0 + HOURS * 3_600_000,
});

it("the CSV export creates each line only when it is requested, and never holds more than one reading", () => {
  const { reader, read, readings } = countedReader();
  const { body } = answerReport(REQUEST, reader);
  let lines = 0;
  let held = 0;
  let before = read.records;
  for (const line of body as Iterable<string>) {
    lines += 1;
    expect(line.endsWith("\n")).toBe(true);
    held = Math.max(held, read.records - before);
    before = read.records;
  }
  expect(lines).toBe(readings + 1);
  expect(read.records).toBe(readings);
  expect(held).toBe(1);
});

it("the reports thread sends each part of an export only when it is requested", async () => {
  const { reader, read, readings } = countedReader();
  const { port1, port2 } = new MessageChannel();
  serveReports(port1, {
    report: (request) => Promise.resolve(answerReport(request as typeof REQUEST, reader)),
    value: () => Promise.reject(new Error("nobody asks for one")),
  });
  const partOn = async (port: MessagePort): Promise<Extract<ReportReply, { kind: "part" }>> => {
    const [reply] = (await once(port, "message")) as [ReportReply];
    if (reply.kind !== "part") throw new Error("a part was expected");
    return reply;
  };
  const ask = (request: unknown): MessagePort => {
    const channel = new MessageChannel();
    port2.postMessage({ kind: "report", request, port: channel.port2 } satisfies ReportCall, [channel.port2]);
    return channel.port1;
  };
  const report = ask(REQUEST);
  let part = await partOn(report);
  const perPart = Buffer.from(part.bytes).toString().split("\n").length;
  let parts = 1;
  let most = read.records;
  while (!part.done) {
    const before = read.records;
    // Waits for another answer: anything the port does on its own is done by then.
    const other = ask({ ...REQUEST, operation: "GET /api/booths/{id}" });
    await partOn(other);
    other.close();
    expect(read.records).toBe(before);
    report.postMessage("more");
    part = await partOn(report);
    most = Math.max(most, read.records - before);
    parts += 1;
  }
  expect(parts).toBeGreaterThan(3);
  expect(most).toBeLessThan(readings / 2);
  expect(most).toBeLessThanOrEqual(3 * perPart);
  report.close();
  port1.close();
});
