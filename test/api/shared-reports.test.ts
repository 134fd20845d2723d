import { expect, it } from "vitest";
import type { AskedReport } from "../../src/api/report.ts";
import { sharedReports } from "../../src/api/shared-reports.ts";
import type { ReportParts } from "../../src/store/port.ts";

const CHART = "GET /api/booths/{id}/use_periods";
const FIGURE = "GET /api/booths/{id}/duration_by_mode";

function asked(operation: string, query: Record<string, string> = {}): AskedReport {
  return { operation, params: { id: "booth-1" }, query };
}

/** A reports thread whose parts share one buffer, as the real one's do. */
function thread(status = 200, size = 4) {
  const memory = new Uint8Array(size);
  const made: string[] = [];
  const ask = (request: AskedReport): Promise<ReportParts> => {
    made.push(`${request.operation} ${JSON.stringify(request.query)}`);
    const nth = made.length;
    async function* body(): AsyncGenerator<Uint8Array> {
      for (const part of [0, 1]) yield await Promise.resolve(memory.fill(10 * nth + part));
    }
    return Promise.resolve({ status, headers: { "Content-Type": "application/json" }, body: body() });
  };
  return { made, ask };
}

async function bytesOf({ body }: ReportParts): Promise<number[]> {
  const all: number[] = [];
  for await (const part of body) for (const byte of part) all.push(byte);
  return all;
}

it("identical chart requests within ten seconds share one answer, even while it is being generated", async () => {
  let now = 0;
  const { made, ask } = thread();
  const shared = sharedReports(ask, () => now);
  const both = await Promise.all([
    shared(asked(CHART, { unit: "day", a: "1" })),
    shared(asked(CHART, { a: "1", unit: "day" })),
  ]);
  const texts = await Promise.all(both.map(bytesOf));
  expect(texts).toEqual([
    [10, 10, 10, 10, 11, 11, 11, 11],
    [10, 10, 10, 10, 11, 11, 11, 11],
  ]);
  now = 9_999;
  expect(await bytesOf(await shared(asked(CHART, { unit: "day", a: "1" })))).toEqual(texts[0]);
  expect(made).toHaveLength(1);
  now = 10_000;
  expect((await bytesOf(await shared(asked(CHART, { unit: "day", a: "1" }))))[0]).toBe(20);
  await shared(asked(CHART, { unit: "week" }));
  expect(made).toHaveLength(3);
});

it("reports are generated for each request if they are large, are not charts, or failed", async () => {
  for (const [{ made, ask }, operation] of [
    [thread(), FIGURE],
    [thread(400), CHART],
    [thread(200, 200_000), CHART],
  ] as const) {
    const shared = sharedReports(ask, () => 0);
    await bytesOf(await shared(asked(operation)));
    await bytesOf(await shared(asked(operation)));
    expect(made).toHaveLength(2);
  }
});

it("a chart report whose generation failed is generated again at the next request", async () => {
  let times = 0;
  const { ask } = thread();
  const shared = sharedReports(
    (request) => ((times += 1) === 1 ? Promise.reject(new Error("too many reports")) : ask(request)),
    () => 0,
  );
  await expect(shared(asked(CHART))).rejects.toThrow("too many reports");
  expect(await bytesOf(await shared(asked(CHART)))).toHaveLength(8);
});

it("sharedReports limits how many different answers it keeps in memory", async () => {
  const { made, ask } = thread();
  const shared = sharedReports(ask, () => 0);
  for (let nth = 0; nth < 100; nth += 1) await shared(asked(CHART, { unit: nth.toString() }));
  await shared(asked(CHART, { unit: "99" }));
  expect(made).toHaveLength(100);
  await shared(asked(CHART, { unit: "0" }));
  expect(made).toHaveLength(101);
});
