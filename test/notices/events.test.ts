import { describe, expect, it } from "vitest";
import type { BoothSummary, FilterSummary } from "../../src/domain/summary.ts";
import type { Placed } from "../../src/domain/record.ts";
import type { LinkStatus, StorageStatus } from "../../src/domain/status.ts";
import { changesIn, conditionsOf, serviceCondition } from "../../src/notices/rules/events.ts";
import { messageOf, type Sender } from "../../src/notices/rules/words.ts";

const MIN = 60_000;
const NOW = Date.UTC(2026, 2, 2, 15);
const LIMITS = { link_minutes: 5, service_minutes: 30, mode_minutes: { bake: 90 } };
const UP: LinkStatus = { kind: "up", since: 0 };
const down = (since: number): LinkStatus => ({
  kind: "down",
  since,
  reason: "no answer",
  advice: "",
  attempt: 1,
  next_try_at: null,
});
const SOUND: StorageStatus = {
  used_bytes: 1,
  max_bytes: 2,
  hours_to_full: null,
  quarantined: 0,
  health: { low: false, damaged_files: [] },
};

function summary(more: Partial<BoothSummary>): BoothSummary {
  return {
    mode: "idle",
    since: NOW - 10 * MIN,
    in_gap: false,
    filters: {},
    open_incidents: 0,
    ...more,
  } as BoothSummary;
}

/** Returns the conditions that are on or unsure. */
function looks(booth: {
  readonly summary?: BoothSummary | null;
  readonly plc?: LinkStatus;
  readonly storage?: StorageStatus | null;
  readonly trouble?: string;
}): Readonly<Record<string, string>> {
  const all = conditionsOf({ summary: summary({}), plc: UP, storage: SOUND, trouble: "", ...booth }, LIMITS, {
    now: NOW,
    time: NOW,
  });
  return Object.fromEntries(all.filter(({ is }) => is !== "off").map(({ key, is }) => [key, is]));
}

const UNKNOWN = { estop: "unsure", fault: "unsure", "mode bake": "unsure" };

describe("the notice conditions of a booth", () => {
  it.each([
    ["include nothing for a healthy booth", {}, {}],
    ["include a fault while the mode is fault", { summary: summary({ mode: "fault" }) }, { fault: "on" }],
    ["include an E-stop while the mode is estop", { summary: summary({ mode: "estop" }) }, { estop: "on" }],
    ["include nothing after 10 min of baking", { summary: summary({ mode: "bake" }) }, {}],
    [
      "include a mode that lasts too long after 90 min of baking",
      { summary: summary({ mode: "bake", since: NOW - 90 * MIN }) },
      { "mode bake": "on" },
    ],
    [
      "are unsure about the mode if the last reading is old",
      { summary: summary({ mode: "fault", in_gap: true }) },
      UNKNOWN,
    ],
    ["are unsure about the mode if there is no data", { summary: summary({ mode: "no_data" }) }, UNKNOWN],
    ["are unsure about the mode if the booth was never read", { summary: null }, UNKNOWN],
    ["are unsure about the link before 5 min without an answer", { plc: down(NOW - 5 * MIN + 1) }, { link: "unsure" }],
    ["include the link after 5 min without an answer", { plc: down(NOW - 5 * MIN) }, { link: "on" }],
    ["are unsure about the storage if its status is unknown", { storage: null }, { storage: "unsure" }],
    ["include the storage if commits fail", { trouble: "disk full" }, { storage: "on" }],
    [
      "include the storage if the disk is full",
      { storage: { ...SOUND, health: { low: true, damaged_files: [] } } },
      { storage: "on" },
    ],
    ["include nothing if the space lasts for 24 h", { storage: { ...SOUND, hours_to_full: 24 } }, {}],
    [
      "include the storage if the space lasts for less than 24 h",
      { storage: { ...SOUND, hours_to_full: 23.9 } },
      { storage: "on" },
    ],
  ])("follow the booth's state (on, off or unsure): they %s", (_, booth, wanted) => {
    expect(looks(booth)).toEqual(wanted);
  });

  it.each([
    ["good", {}],
    ["warning", { "filter_warning pre_filter": "on" }],
    ["overuse", { "filter pre_filter": "on", "filter_warning pre_filter": "on" }],
    [null, { "filter pre_filter": "unsure", "filter_warning pre_filter": "unsure" }],
  ] as const)("include, for a filter in the state %s, the conditions %j", (state, wanted) => {
    const pre_filter = { state, overuse_since: null } as FilterSummary;
    expect(looks({ summary: summary({ filters: { pre_filter } }) })).toEqual(wanted);
  });

  it("include the service once its link has been down for 30 min, if a link is needed", () => {
    expect(serviceCondition(down(NOW - 30 * MIN), LIMITS, NOW).is).toBe("on");
    expect(serviceCondition(down(NOW - 29 * MIN), LIMITS, NOW).is).toBe("unsure");
    expect(serviceCondition(null, LIMITS, NOW).is).toBe("off");
  });
});

describe("changesIn", () => {
  const base = { seq: 1, time: NOW, boot: "b", mono: 0, at: NOW, tag: "", quality: "good" } as const;
  const incident = {
    tag_name: "t",
    check: "stuck",
    logic: {},
    reason: "it stands still",
    first_seen_at: 1,
    last_seen_at: 2,
  };
  const stage = {
    bay: 0,
    mode: "fault",
    start: 1,
    end: 2,
    end_reason: "changed",
    is_new_start: true,
    uncertain_ms: 0,
    uncertainty_ms: 0,
    raw: "",
  } as const;
  const change = (record: object): readonly string[] =>
    changesIn([{ ...base, ...record } as Placed]).map(({ kind, key }) => `${kind} ${key}`);

  it("returns incidents and short alarms from the log, and ignores records that a rebuild corrected", () => {
    const open = { ...incident, resolved_at: null, severity: "warning" };
    expect(change({ kind: "i", value: open })).toEqual(["began incident stuck t"]);
    expect(change({ kind: "i", value: { ...open, resolved_at: 3 } })).toEqual(["ended incident stuck t"]);
    expect(change({ kind: "i", value: { ...open, severity: "info" } })).toEqual([]);
    expect(change({ kind: "i", value: { ...open, supersedes: 7 } })).toEqual([]);
    expect(change({ kind: "m", value: stage })).toEqual(["passed fault"]);
    expect(change({ kind: "m", value: { ...stage, mode: "spray" } })).toEqual([]);
    expect(change({ kind: "m", value: { ...stage, bay: 1 } })).toEqual([]);
    expect(change({ kind: "m", value: { ...stage, end_reason: "gap" } })).toEqual([]);
    expect(change({ kind: "r", value: 1 })).toEqual([]);
  });
});

describe("a notice message", () => {
  const SENDER: Sender = {
    gateway: "gw",
    name: "office",
    tz: "America/Denver",
    urgent: ["fault"],
    serials: { "booth-1": "ABCD-123-123" },
    is_confirmed: true,
  };
  const event = {
    booth: "booth-1",
    key: "fault",
    class: "fault",
    what: "fault",
    state: "began",
    began: NOW,
    ended: null,
  } as const;

  it("contains the event with its booth and its local time", () => {
    const { subject, text, document } = messageOf({ id: "1", events: [event], more: 0 }, SENDER);
    expect(subject).toBe("booth-1: fault");
    expect(text).toBe("booth-1: fault, since 2026-03-02 08:00\n\nTimes: America/Denver. Gateway gw, notice office.\n");
    expect(document).toEqual({
      id: "1",
      gateway: "gw",
      notice: "office",
      text: "booth-1: fault",
      more: 0,
      events: [
        {
          booth: "booth-1",
          serial: "ABCD-123-123",
          class: "fault",
          key: "fault",
          what: "fault",
          state: "began",
          began: "2026-03-02T15:00:00.000Z",
          ended: null,
          urgent: true,
        },
      ],
    });
  });

  it("counts the events that the message omits, and keeps text from a PLC on one line", () => {
    const odd = { ...event, what: "tag\r\nBcc: everybody@example.com" };
    const over = { ...event, booth: null, state: "ended", ended: NOW + MIN } as const;
    const { subject, text } = messageOf({ id: "1", events: [odd, over], more: 3 }, SENDER);
    expect(subject).toBe("booth-1: tag Bcc: everybody@example.com, and 4 more");
    expect(text.split("\n").slice(0, 3)).toEqual([
      "booth-1: tag Bcc: everybody@example.com, since 2026-03-02 08:00",
      "gateway: over: fault, 2026-03-02 08:00 to 2026-03-02 08:01",
      "and 3 more",
    ]);
  });
});
