import { afterAll, beforeAll, expect, it } from "vitest";
import type { Scenario } from "../../simulators/plc/model/scenario.ts";
import { busyDay } from "../../simulators/plc/scenarios/busy-day.ts";
import { OPERATIONS } from "../../src/api/operations.ts";
import { SERVICE_OPERATIONS } from "../../src/contract/operations.ts";
import { memoryFolder } from "../support/temporary.ts";
import { twoSides, type Side, type TwoSides, differing } from "./two-sides.ts";
import { badQuestions, goodQuestions, pastQuestions, type Story } from "./value-questions.ts";
import { virtualSite, type VirtualSite } from "../support/virtual-site.ts";
import { MINUTE_MS, HOUR_MS } from "../../src/domain/time.ts";

/** Fri 2026-03-06 06:00 in Denver: two days later its clocks go forward. */
const START = Date.UTC(2026, 2, 6, 13);
const STORY_MS = 70 * HOUR_MS;

/** The exhaust filter comes into overuse while the booth is silent, and is changed the next day. */
const DAYS_WITH_GAPS: Scenario = {
  ...busyDay,
  name: "days-with-gaps",
  filter_minutes: { exhaust_filter: 5_700 },
  on_day: {
    1: [
      { at: "12:00", steps: [{ kind: "press", filter: "exhaust_filter" }] },
      {
        at: "16:20",
        steps: [
          { mode: "estop", minutes: 4 },
          { mode: "idle", minutes: 2 },
        ],
      },
    ],
  },
};

let site: VirtualSite;
let sides: TwoSides;
const undos: (() => unknown)[] = [];
const story: Story = { start: START, end: START + STORY_MS };

beforeAll(async () => {
  const folder = memoryFolder((undo) => undos.push(undo));
  site = virtualSite({
    folder,
    scenario: DAYS_WITH_GAPS,
    start: START,
    commit_interval_ms: 10 * MINUTE_MS,
    booth: { poll: { fast: { poll_interval_ms: 10_000 }, slow: { poll_interval_ms: 60_000 } } },
  });
  await play(site);
  sides = await twoSides(site, folder);
  undos.push(
    () => site.close(),
    () => sides.close(),
  );
}, 300_000);

afterAll(async () => {
  for (const undo of undos.reverse()) await undo();
});

/** A PLC that doesn't answer at first, for 20 min in a cycle and for 3 h; the agent away for 45 min; the service for 4 h. */
async function play(at: VirtualSite): Promise<void> {
  await at.start();
  await silent(at, 30 * MINUTE_MS);
  await at.clock.run(3.5 * HOUR_MS);
  await silent(at, 20 * MINUTE_MS);
  await at.clock.run(3 * HOUR_MS);
  await silent(at, 3 * HOUR_MS);
  await at.clock.run(10 * HOUR_MS);
  await at.stop();
  await at.clock.run(45 * MINUTE_MS);
  await at.start();
  await at.clock.run(11 * HOUR_MS);
  at.service.way.down = true;
  await at.clock.run(4 * HOUR_MS);
  at.service.way.down = false;
  await at.clock.run(START + STORY_MS - at.clock.truth());
  await delivered(at);
}

async function silent({ plc, clock }: VirtualSite, ms: number): Promise<void> {
  plc.fault = "timeout";
  await clock.run(ms);
  plc.fault = null;
}

/** Runs until the service has acked everything, so that both sides have the same records. */
function delivered(at: VirtualSite): Promise<void> {
  return at.clock.runUntil(() => {
    const { pending, acked_seq, newest_seq } = at.control().status().booths[0]?.log ?? {};
    return pending === 0 && acked_seq === newest_seq;
  }, HOUR_MS);
}

it("the gateway and the service answer every valid GET request with the same values", async () => {
  const asked = goodQuestions(story);
  const names = new Set(asked.map((path) => nameOf(path)));
  const reads = OPERATIONS.filter(
    (one) =>
      one.method === "GET" && SERVICE_OPERATIONS.some(({ method, path }) => method === "GET" && path === one.path),
  );
  expect(reads.map(({ path }) => path).filter((path) => !names.has(path))).toEqual([]);
  expect(await differing(sides, asked)).toEqual([]);
}, 180_000);

it("the gateway and the service reject invalid GET requests with the same status and text", async () => {
  expect(await differing(sides, badQuestions(story))).toEqual([]);
}, 180_000);

it("the gateway and the service reject invalid writes with the same status", async () => {
  const faults: string[] = [];
  const bad = [
    ["POST", "/api/help", {}],
    ["POST", "/api/help", { subject: "" }],
    ["POST", "/api/authenticate", {}],
    ["POST", "/api/booths_provisioning", {}],
    ["PUT", "/api/booths_provisioning/NONE-1", { completion_status: "COMPLETE" }],
    ["PUT", "/api/booths_provisioning/ABCD-123-123", { completion_status: 7 }],
  ] as const;
  for (const [method, path, body] of bad) {
    const mine = await sides.box.send(method, path, body);
    const theirs = await sides.service.send(method, path, body);
    if (mine.status !== theirs.status) faults.push(`${method} ${path}: ${mine.text} <> ${theirs.text}`);
  }
  expect(faults).toEqual([]);
});

it("during an outage and a restart, the gateway answers like the service about the past, and after the outage about everything", async () => {
  site.service.way.down = true;
  const until = site.clock.truth() - MINUTE_MS;
  await site.clock.run(2 * HOUR_MS);
  await site.stop();
  await site.start();
  await sides.enterAgain();
  await site.clock.run(HOUR_MS);
  expect(await differing(sides, pastQuestions({ start: START, end: until }))).toEqual([]);
  expect(await sizesAt(sides.box)).toEqual(await sizesAt(sides.service));
  site.service.way.down = false;
  await site.clock.run(20 * MINUTE_MS);
  await delivered(site);
  expect(await differing(sides, goodQuestions({ start: START, end: site.clock.truth() }))).toEqual([]);
}, 300_000);

async function sizesAt(side: Side): Promise<unknown[]> {
  const { body } = await side.get("/api/booths/b-1");
  const names = ["brand_name", "model_number", "bay_count", "burner_size", "height", "length", "motor_size", "width"];
  return names.map((name) => (body as Readonly<Record<string, unknown>>)[name]);
}

/** The operation's path, with its placeholders. */
function nameOf(path: string): string {
  return (path.split("?")[0] ?? "").replace("/b-1", "/{id}").replace("/ABCD-123-123", "/{serial_number}");
}
