import { rendered } from "../../src/domain/messages/render.ts";
import { createScrubber } from "../../src/scrubber.ts";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { virtualClock, type VirtualClock } from "../../simulators/virtual/clock.ts";
import { parseConfig } from "../../src/config/config.ts";
import type { OpenIncident } from "../../src/domain/booth-state.ts";
import { KIND, type Placed } from "../../src/domain/record.ts";
import type { BoothSummary } from "../../src/domain/summary.ts";
import { createSignal } from "../../src/domain/signal.ts";
import { openNotices } from "../../src/notices/notices.ts";
import type { NoticeBooth, NoticeMachine } from "../../src/notices/port.ts";
import { eventually } from "../support/eventually.ts";
import { seededRandom } from "../support/seeded-random.ts";
import { silentLog } from "../support/silent-log.ts";
import { temporaryFolder } from "../support/temporary.ts";

const MIN = 60_000;
const HOUR = 60 * MIN;
/** 2026-03-02 12:00 UTC. */
const NOON = Date.UTC(2026, 2, 2, 12);

interface Posted {
  readonly id: string;
  readonly text: string;
  readonly events: readonly { readonly state: string }[];
}

/** A booth, a webhook and a clock that the test controls. */
async function plant(settings: string) {
  const posted: Posted[] = [];
  let status = 204;
  const server = createServer((request, answer) => {
    let body = "";
    request.setEncoding("utf8").on("data", (text: string) => (body += text));
    request.on("end", () => {
      posted.push(JSON.parse(body) as Posted);
      answer.writeHead(status).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const text = `booths: [{ id: b, profile: p, modbus: { host: h } }]
notices: [{ name: shift, ${settings}, webhook: { url: "http://127.0.0.1:${port}/" } }]`;
  const clock: VirtualClock = virtualClock({ wall: NOON, mono: 0 });
  const summary = {
    mode: "idle",
    since: NOON,
    in_gap: false,
    filters: {},
    open_incidents: 0,
  } as unknown as BoothSummary;
  const log = {
    summary,
    storage: null,
    reach: { stream: "s", oldest_seq: 1, newest_seq: 0, sendable_seq: 0, acked_seq: 0 },
    now: () => clock.wall(),
    parameters: () => null,
    incidents: (): readonly OpenIncident[] => [],
  };
  const state = { booth: "b", link: { plc: { kind: "up", since: NOON } }, log, binding: { row: { serial: null } } };
  const booth: NoticeBooth = { state: state as unknown as NoticeBooth["state"], trouble: () => "" };
  const news = createSignal(clock);
  let kept: unknown = null;
  let facts: readonly Placed[] = [];
  const machine: NoticeMachine = {
    clock,
    random: seededRandom(1),
    log: silentLog,
    gateway_id: "gw",
    news,
    runtime_dir: temporaryFolder(),
    store: { read: (_, from) => Promise.resolve(facts.filter(({ seq }) => seq >= from)) },
    identity: { kept: () => Promise.resolve(kept), keep: (_, what) => Promise.resolve(void (kept = what)) },
    service: () => null,
    secret: () => "",
    scrubber: createScrubber(),
  };
  const open = () => openNotices(machine, parseConfig(text, "/f").notices, [booth]);
  const notices = await open();
  const ending = new AbortController();
  onTestFinished(() => ending.abort());
  void Promise.all(notices.run(ending.signal));
  return {
    clock,
    posted,
    notices,
    answer: (code: number) => void (status = code),
    /** Makes each look at the booth throw until `stop`. */
    failLooks() {
      const { now } = log;
      const looks = { count: 0, stop: () => void (log.now = now) };
      log.now = () => {
        looks.count += 1;
        throw new Error("the store is busy");
      };
      return looks;
    },
    /** Commits records up to `newest_seq`; those after `sendable_seq` wait for a confirmed clock. */
    async commit(
      { newest_seq, sendable_seq }: { readonly newest_seq: number; readonly sendable_seq: number },
      { incidents, told = [] }: { readonly incidents: readonly OpenIncident[]; readonly told?: readonly Placed[] },
    ): Promise<void> {
      facts = told;
      Object.assign(log, {
        reach: { ...log.reach, newest_seq, sendable_seq },
        incidents: () => incidents,
        summary: { ...log.summary, open_incidents: incidents.length },
      });
      news.raise();
      await clock.run(2_000);
    },
    async mode(mode: string): Promise<void> {
      log.summary = { ...log.summary, mode, since: clock.wall() } as BoothSummary;
      news.raise();
      await clock.run(2_000);
    },
    /** Runs the virtual clock until the real server was asked, and has answered. */
    async asked(count: number): Promise<void> {
      await eventually(`${count} requests`, async () => {
        await clock.run(100);
        return posted.length >= count ? true : undefined;
      });
      await eventually("it is answered", async () => {
        await clock.run(100);
        const [one] = notices.status();
        return one !== undefined && (one.waiting === 0 || one.link.kind === "down") ? true : undefined;
      });
    },
  };
}

test("an incident notice is sent immediately even while the clock is unconfirmed, and once more when the incident ends", async () => {
  const site = await plant("events: [incident]");
  const opened = {
    check: "range",
    tag_name: "air_temperature",
    reason: "80 C is above 70 C",
    ...({ severity: "warning", first_seen_at: NOON } as const),
  };
  await site.commit({ newest_seq: 10, sendable_seq: 0 }, { incidents: [opened] });
  await site.asked(1);
  const [told] = site.posted;
  expect(told).toMatchObject({ text: "b: air_temperature: 80 C is above 70 C", clock_confirmed: false });
  const value = { ...opened, logic: {}, last_seen_at: NOON, resolved_at: null };
  const fact: Placed = {
    ...({ kind: KIND.incident, boot: "boot", mono: 0, at: NOON, tag: "", quality: "good" } as const),
    value,
    seq: 12,
    time: NOON,
  };
  await site.commit({ newest_seq: 12, sendable_seq: 12 }, { incidents: [opened], told: [fact] });
  await site.clock.run(MIN);
  expect(site.posted).toHaveLength(1);
  const ended: Placed = { ...fact, value: { ...value, resolved_at: NOON + MIN }, seq: 13 };
  await site.commit({ newest_seq: 13, sendable_seq: 13 }, { incidents: [], told: [fact, ended] });
  await site.asked(2);
  expect(site.posted[1]?.events.map(({ state }) => state)).toEqual(["ended"]);
});

test("a webhook server that is down is retried with growing delays, then gets the failed message and one message with later events", async () => {
  const site = await plant("events: [fault, estop]");
  site.answer(503);
  await site.mode("fault");
  await site.asked(1);
  const [down] = site.notices.status();
  expect(rendered(down?.link)).toMatchObject({ kind: "down", reason: "the server answered: HTTP 503", attempt: 1 });
  await site.mode("idle");
  await site.mode("estop");
  const until = site.clock.wall() + 6 * HOUR;
  for (let tries = 1; site.clock.wall() < until;) {
    await site.clock.run(MIN);
    const [one] = site.notices.status();
    if (one?.link.kind !== "down" || one.link.attempt + 1 <= tries) continue;
    tries = one.link.attempt + 1;
  }
  // The server may have received the first message, so it is sent unchanged under its id.
  expect(new Set(site.posted.map(({ id }) => id)).size).toBe(1);
  expect(site.posted.length).toBeLessThan(70);
  expect(site.posted.length).toBeGreaterThan(5);
  site.answer(204);
  const before = site.posted.length;
  await eventually("it gets through", async () => {
    await site.clock.run(MIN);
    return site.notices.status()[0]?.waiting === 0 ? true : undefined;
  });
  const told = site.posted.slice(before);
  expect(told.map(({ text }) => text)).toEqual(["b: fault", "b: over: fault, and 1 more"]);
  expect(site.notices.status()[0]).toMatchObject({ link: { kind: "up" }, sent: 2, open: 1 });
});

test("a notice channel with an unexpected error is shown as down with the reason, and is retried until it succeeds", async () => {
  const site = await plant("events: [fault]");
  const reads = site.failLooks();
  await site.mode("fault");
  const failed = site.notices.status()[0]?.link;
  expect(rendered(failed)).toMatchObject({ kind: "down", reason: "unexpected error: the store is busy", attempt: 1 });
  await site.clock.run(HOUR);
  expect(reads.count).toBeGreaterThan(2);
  expect(reads.count).toBeLessThan(30);
  reads.stop();
  await site.clock.run(HOUR);
  await site.asked(1);
  expect(site.notices.status()[0]).toMatchObject({ link: { kind: "up" }, sent: 1 });
});

test("notice events of the quiet hours are sent together afterwards, and a permanently rejected message is resent after a test notice", async () => {
  const site = await plant('events: [fault, estop], urgent: [], quiet: { from: "22:00", to: "06:00", tz: UTC }');
  await site.clock.run(11 * HOUR);
  await site.mode("fault");
  await site.mode("idle");
  await site.mode("estop");
  await site.clock.run(6 * HOUR);
  expect(site.posted).toEqual([]);
  site.answer(404);
  await eventually("morning", async () => {
    await site.clock.run(MIN);
    return site.posted.length > 0 ? true : undefined;
  });
  expect(new Date(site.clock.wall()).getUTCHours()).toBe(6);
  await site.asked(1);
  await site.clock.run(50 * MIN);
  expect(site.posted).toHaveLength(1);
  site.answer(204);
  const { signal } = new AbortController();
  expect(await site.notices.test("shift", signal)).toMatchObject([{ name: "shift", outcome: { kind: "delivered" } }]);
  expect(await site.notices.test("none", signal)).toEqual([]);
  await site.asked(3);
  expect(site.posted.at(-1)?.events.map(({ state }) => state)).toEqual(["passed", "began"]);
});
