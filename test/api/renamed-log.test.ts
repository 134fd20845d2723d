import { expect, it } from "vitest";
import type { LocalBooth } from "../../src/api/report.ts";
import type { StoreReader } from "../../src/store/port.ts";
import type { Source } from "../../src/reports/source.ts";
import { run, script, stay, T0 } from "../support/booth.ts";
import { localBooth, answerReport, requestAt } from "../support/figures.ts";
import { PARAMETERS } from "../support/parameters.ts";
import { readerOf } from "../support/reader.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

const WINDOW = { start: new Date(T0).toISOString(), end: new Date(T0 + 30 * MINUTE_MS).toISOString() };

/** Has an unknown mode code for a while, which is an incident. */
function life(): Source {
  const booth = script(PARAMETERS);
  stay(booth, 10 * MINUTE_MS, { mode: 3 });
  stay(booth, 5 * MINUTE_MS, { mode: 12 });
  stay(booth, 15 * MINUTE_MS, { mode: 4 });
  return { reader: ofOwnName(readerOf(run(booth, PARAMETERS))), stream: "s", now_ms: T0 + booth.now };
}

/** Finds a log by its own name only, as a store does. */
function ofOwnName(reader: StoreReader): StoreReader {
  return {
    ...reader,
    facts: (stream, kind, window) => (stream === "s" ? reader.facts(stream, kind, window) : []),
    stages: (stream, window) => (stream === "s" ? reader.stages(stream, window) : []),
    state: (stream) => (stream === "s" ? reader.state(stream) : undefined),
  };
}

function asked(source: Source, booth: LocalBooth, operation: string): Record<string, unknown> {
  const path = operation.startsWith("/") ? operation : `/api/booths/b-1/${operation}`;
  const { body } = answerReport(
    requestAt({ path, query: WINDOW, booths: [booth], now_ms: source.now_ms }),
    source.reader,
  );
  return JSON.parse(typeof body === "string" ? body : "") as Record<string, unknown>;
}

it("reports of a log are the same if the service knows the log under another name", () => {
  const source = life();
  const own = localBooth(source);
  const renamed = {
    ...own,
    stream: "new",
    label: { id: "new", from_seq: 1_000_000, predecessor: { stream_id: "old", last_seq: 999_999 } },
  };
  for (const operation of ["duration_by_mode", "runtime_series", "recent_stages", "/api/booths"])
    expect(asked(source, renamed, operation)).toEqual(asked(source, own, operation));
  const idsOf = (booth: LocalBooth): readonly string[] =>
    (asked(source, booth, "/api/validation_incidents")["data"] as { id: string }[]).map(({ id }) => id);
  expect(idsOf(own).length).toBeGreaterThan(0);
  expect(idsOf(renamed)).toEqual(idsOf(own).map((id) => id.replace(/^s-/, "old-")));
  const fromFirst = { ...renamed, label: { ...renamed.label, from_seq: 1 } };
  expect(idsOf(fromFirst)).toEqual(idsOf(own).map((id) => id.replace(/^s-/, "new-")));
});
