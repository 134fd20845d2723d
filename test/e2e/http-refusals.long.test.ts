import { expect, it } from "vitest";
import type { HttpAnswer, HttpRequest } from "../../src/delivery/http/client.ts";
import { run } from "../../simulators/service/storage/db.ts";
import { activeSite, boothOf, MINUTE } from "../support/active-site.ts";
import type { VirtualSite } from "../support/virtual-site.ts";

interface Passed {
  readonly at: number;
  readonly method: string;
  readonly report: boolean;
  readonly match: string | undefined;
  readonly status: number;
}

const isReport = ({ method, body }: HttpRequest): boolean =>
  method === "PUT" && typeof body === "object" && body !== null && "reported" in body;

/** Records the requests to the service. `intercept` may answer instead of the service, or change its data before it answers. */
function watched({ service, clock }: VirtualSite, intercept: (request: HttpRequest) => HttpAnswer | null): Passed[] {
  const passed: Passed[] = [];
  const send = service.http.send.bind(service.http);
  const between = async (request: HttpRequest): Promise<HttpAnswer> => {
    const at = clock.mono();
    const answer = intercept(request) ?? (await send(request));
    const { method, headers } = request;
    passed.push({ at, method, report: isReport(request), match: headers?.["If-Match"], status: answer.status });
    return answer;
  };
  Object.assign(service.http, { send: between });
  return passed;
}

const refusal = (status: number): HttpAnswer => ({ status, headers: {}, text: JSON.stringify({ error: "no" }) });

/** Time in which the day's modes change, so that a new report is due. */
const CHANGES_WITHIN_MS = 4 * 60 * MINUTE;

it("a report to the service is resent with the new entity tag after a 412, at most three times in total", async () => {
  const { site, agent } = await activeSite({ for_ms: MINUTE });
  let changes = 1;
  const passed = watched(site, (request) => {
    if (isReport(request) && changes > 0) {
      changes -= 1;
      run(site.service.db, "UPDATE provisionings SET revision = revision + 1");
    }
    return null;
  });
  const reports = (): Passed[] => passed.filter(({ report }) => report);
  await site.clock.runUntil(() => reports().some(({ status }) => status === 200), CHANGES_WITHIN_MS);
  expect(reports().map(({ status }) => status)).toEqual([412, 200]);
  const [first, second] = reports();
  expect(first?.match).toBeTypeOf("string");
  expect(second?.match).not.toBe(first?.match);
  const between = passed
    .slice(
      0,
      passed.findLastIndex(({ report }) => report),
    )
    .map(({ method }) => method);
  expect(between.at(-1)).toBe("GET");

  const before = reports().length;
  changes = Number.POSITIVE_INFINITY;
  await site.clock.runUntil(() => reports().length > before, CHANGES_WITHIN_MS);
  await site.clock.run(5_000);
  expect(
    reports()
      .slice(before)
      .map(({ status }) => status),
  ).toEqual([412, 412, 412]);
  expect(boothOf(agent).provisioning.state).toBe("active");
});

it.each([401, 403])(
  "a report to the service is not repeated for seven minutes after a status %i, while delivery continues",
  async (status) => {
    const { site, agent } = await activeSite({ for_ms: MINUTE });
    let isRefusing = true;
    const passed = watched(site, (request) => (isReport(request) && isRefusing ? refusal(status) : null));
    const reports = (): Passed[] => passed.filter(({ report }) => report);
    await site.clock.runUntil(() => reports().length > 0, CHANGES_WITHIN_MS);
    const { newest_seq } = boothOf(agent).log;
    await site.clock.run(7 * MINUTE);
    expect(reports()).toHaveLength(1);
    expect(boothOf(agent)).toMatchObject({ provisioning: { state: "active" } });
    expect(boothOf(agent).log.acked_seq).toBeGreaterThan(newest_seq);
    isRefusing = false;
    await site.clock.runUntil(() => reports().at(-1)?.status === 200, CHANGES_WITHIN_MS);
    const [refused, next] = reports();
    expect((next?.at ?? 0) - (refused?.at ?? 0)).toBeGreaterThanOrEqual(7.5 * MINUTE);
  },
);
