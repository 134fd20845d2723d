import { expect, it } from "vitest";
import { createFilterLabels, type FilterLabels } from "../../src/api/filter-labels.ts";
import type { FilterEntry } from "../../src/domain/entry.ts";
import { filterMaintenanceHistory, filterMaintenances } from "../../src/reports/filters.ts";
import { localControl } from "../support/local-call.ts";
import type { VirtualSite } from "../support/virtual-site.ts";
import { play } from "./play.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

/** Mon 2026-03-02 07:40 in Denver. */
const BEFORE_WORK = Date.UTC(2026, 2, 2, 14, 40);

type LocalAnswer = Awaited<ReturnType<Awaited<ReturnType<typeof localControl>>>>;

/** Keeps labels of filter changes in memory, because these tests are about the log. */
function labelsInMemory(): FilterLabels {
  const kept = new Map<string, unknown>();
  return createFilterLabels({
    kept: (name) => Promise.resolve(kept.get(name)),
    keep: (name, value) => {
      kept.set(name, value);
      return Promise.resolve();
    },
  });
}

const filter_labels = labelsInMemory();

async function ask(site: VirtualSite, path: string, body: object): Promise<LocalAnswer> {
  const asked: { answer?: LocalAnswer } = {};
  const act = await localControl(`POST ${path}`);
  void act({ control: site.control(), body, filter_labels }).then((answer) => (asked.answer = answer));
  await site.clock.runUntil(() => asked.answer !== undefined, MINUTE_MS);
  return asked.answer ?? { status: 0, body: null };
}

it("gateway and service agree about a technician's filter entries, even a withdrawn entry, and change no earlier record", async () => {
  const answers: LocalAnswer[] = [];
  const during = async (site: VirtualSite): Promise<void> => {
    const changed = async (id: string, filter: string, minutes_ago: number): Promise<void> => {
      answers.push(await ask(site, "/filters/changed", { id, filter, minutes_ago, by: "alex" }));
    };
    await site.clock.run(80 * MINUTE_MS);
    await changed("entry-pre-1", "pre_filter", 0);
    await site.clock.run(100 * MINUTE_MS);
    // A mistaken entry: the wrong filter, half an hour ago, during spray.
    await changed("entry-pre-2", "pre_filter", 30);
    await changed("entry-pre-2", "pre_filter", 30);
    await site.clock.run(60 * MINUTE_MS);
    answers.push(await ask(site, "/filters/undo", { id: "entry-pre-2", by: "alex" }));
    answers.push(await ask(site, "/filters/undo", { id: "entry-pre-2", by: "alex" }));
    await changed("entry-exhaust", "exhaust_filter", 45);
    await site.clock.run(60 * MINUTE_MS);
    answers.push(await ask(site, "/filters/undo", { id: "entry-nobody-made" }));
    await changed("entry-in-the-dark", "intake_filter", 37 * 60);
    await changed("short", "intake_filter", 0);
  };
  const played = await play({
    scenario: "busy-day",
    start: BEFORE_WORK,
    hours: 11,
    name: "technician's entries",
    unlisted: true,
    during,
  });
  const entries = answers.map(({ status, body }) => [status, (body as FilterEntry).outcome]);
  expect(entries).toEqual([
    [200, "entered"],
    [200, "entered"],
    [200, "entered"],
    [200, "undone"],
    [200, "undone"],
    [200, "entered"],
    [409, undefined],
    [409, undefined],
    [400, undefined],
  ]);
  const { source, window } = played;
  const at = (ms: number): number => Math.round((ms - BEFORE_WORK) / MINUTE_MS);
  expect(filterMaintenances(source, window).map((one) => [one.type, at(one.installed_at), one.removed_at])).toEqual([
    ["intake_filter", 0, null],
    ["pre_filter", 0, expect.any(Number)],
    ["pre_filter", 80, null],
    ["exhaust_filter", 0, expect.any(Number)],
    ["exhaust_filter", 195, null],
  ]);
  const history = filterMaintenanceHistory(source, window);
  expect(history.map((one) => [one.filter_type, at(one.removed_at), one.service])).toEqual([
    ["pre_filter", 80, "on_time"],
    ["exhaust_filter", 195, "on_time"],
  ]);
  played.close();
});
