import fc from "fast-check";
import type { Quality, TagValue } from "../../src/domain/booth.ts";
import type { Parameters } from "../../src/domain/parameters.ts";
import type { LogRecord } from "../../src/domain/record.ts";
import type { TakenEntry } from "../../src/domain/taken.ts";
import { minutesTag, withFilters } from "../support/parameters.ts";

/** Parameters of a random booth, with counters and two filters that reach their limits within a life. */
export const WALK: Parameters = withFilters(
  {
    exhaust_filter: { limits: { minutes: 20, cycles: 3 } },
    pre_filter: { limits: { minutes: 45 } },
  },
  { exhaust: minutesTag("exhaust_filter") },
);

export const WALK_T0 = 1_740_960_000_000;

/** An event in the life of a random booth. */
export type Happening =
  | { readonly kind: "mode"; readonly code: number; readonly ms: number }
  | { readonly kind: "bad"; readonly ms: number }
  | { readonly kind: "gap"; readonly ms: number; readonly power: boolean; readonly retries: boolean }
  | { readonly kind: "boot"; readonly ms: number; readonly offset_ms: number }
  | { readonly kind: "step"; readonly ms: number }
  | { readonly kind: "change"; readonly by: "technician" | "button" };

/** Polls after which polls become rare. */
const QUIET_AFTER = 10;
const CODES = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 21, 99] as const;
const USUAL = [3, 4, 3, 5, 6, 8, 1] as const;

/** Long and short times, so that every threshold is crossed and just missed. */
const lengths = fc.oneof(
  fc.integer({ min: 100, max: 4000 }),
  fc.integer({ min: 4000, max: 200_000 }),
  fc.integer({ min: 200_000, max: 1_500_000 }),
  fc.constantFrom(1999, 2000, 2001, 15_000, 119_999, 120_000, 299_999, 300_000),
);

const modes = fc.oneof(fc.constantFrom(...USUAL), fc.constantFrom(...CODES));
const happening: fc.Arbitrary<Happening> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ kind: fc.constant("mode" as const), code: modes, ms: lengths }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("bad" as const), ms: lengths }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("gap" as const),
      ms: fc.oneof(lengths, fc.integer({ min: 3_000_000, max: 50_000_000 })),
      power: fc.boolean(),
      retries: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("boot" as const),
      ms: lengths,
      offset_ms: fc.integer({ min: -3_600_000, max: 3_600_000 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("change" as const),
      by: fc.constantFrom("technician" as const, "button" as const),
    }),
  },
);
const step: fc.Arbitrary<Happening> = fc.record({
  kind: fc.constant("step" as const),
  ms: fc.integer({ min: -7_200_000, max: 7_200_000 }),
});

function part(code: number, ...[min, max]: readonly [number, number]): fc.Arbitrary<Happening> {
  const ms = fc.integer({ min, max });
  return fc.record({ kind: fc.constant("mode" as const), code: fc.constant(code), ms });
}

/** A usual job, sometimes without one of its parts, with spray and bake near their thresholds. */
const job: fc.Arbitrary<Happening[]> = fc
  .tuple(
    part(3, 100_000, 400_000),
    fc.option(part(4, 20_000, 100_000)),
    fc.option(part(3, 20_000, 200_000)),
    fc.option(part(5, 30_000, 90_000)),
    fc.option(part(6, 280_000, 400_000)),
    fc.option(part(8, 60_000, 200_000)),
    fc.option(part(1, 100_000, 200_000)),
  )
  .map((parts) => parts.filter((one) => one !== null));

function walksOf(single: fc.Arbitrary<Happening>): fc.Arbitrary<Happening[]> {
  const one = single.map((happens) => [happens]);
  const all = fc.oneof({ weight: 9, arbitrary: one }, { weight: 1, arbitrary: job });
  return fc.array(all, { minLength: 1, maxLength: 18 }).map((parts) => parts.flat());
}

/** Lives with a clock that is always right. */
export const walks = walksOf(happening);
/** Lives in which the wall clock is also put forward and back. */
export const steppedWalks = walksOf(fc.oneof({ weight: 8, arbitrary: happening }, { weight: 1, arbitrary: step }));
/** Sizes of the commits, in entries. */
export const chunkings = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 6 });

interface Walker {
  readonly entries: TakenEntry[];
  /** True time since the start, ms. */
  now: number;
  boot: number;
  boot_at: number;
  /** Wall clock minus true time. */
  wall_off: number;
  code: number;
  cycles: number;
  run_ms: number;
  exhaust_ms: number;
  uptime_at: number;
  sent: Map<string, TagValue>;
}

type Draft<T> = T extends TakenEntry ? Omit<T, "take" | "stream"> : never;

/** Returns the taken entries of a life, computed without any code of the fold. */
export function entriesOf(happenings: readonly Happening[]): TakenEntry[] {
  const walker: Walker = {
    entries: [],
    now: 0,
    boot: 1,
    boot_at: -5000,
    wall_off: 0,
    code: 1,
    cycles: 10,
    run_ms: 6_000_000,
    exhaust_ms: 300_000,
    uptime_at: -1_000_000,
    sent: new Map(),
  };
  record(walker, { kind: "p", value: WALK });
  clock(walker);
  pollNow(walker);
  for (const one of happenings) live(walker, one);
  pass(walker, 5000);
  return walker.entries;
}

function live(walker: Walker, one: Happening): void {
  switch (one.kind) {
    case "mode":
      if (walker.code === 6 && one.code === 8) walker.cycles += 1;
      walker.code = one.code;
      pass(walker, one.ms);
      break;
    case "bad":
      badPolls(walker, one.ms);
      break;
    case "gap":
      silent(walker, one.ms, one.retries);
      if (one.power) powerCycle(walker);
      walker.sent.clear();
      pollNow(walker);
      break;
    case "boot":
      walker.now += one.ms;
      grow(walker, one.ms);
      walker.boot += 1;
      walker.boot_at = walker.now - 3000;
      walker.wall_off = Math.max(walker.wall_off, one.offset_ms);
      walker.sent.clear();
      clock(walker);
      pollNow(walker);
      break;
    case "step":
      walker.wall_off += one.ms;
      clock(walker);
      break;
    case "change":
      change(walker, one.by);
      break;
  }
}

function change(walker: Walker, by: "technician" | "button"): void {
  if (by === "button") {
    walker.exhaust_ms = 0;
    pollNow(walker);
    return;
  }
  const installed_at = WALK_T0 + walker.now + walker.wall_off;
  record(walker, { kind: "f", value: { filter: "pre_filter", source: by, installed_at, flagged: false, by: "t" } });
}

/** Restarts the PLC, which loses its counters. */
function powerCycle(walker: Walker): void {
  walker.uptime_at = walker.now;
  walker.run_ms = 0;
  walker.exhaust_ms = 0;
}

/** Passes `ms` with a poll every 1 to 9 s, less often in a long quiet time, always within the bridge. */
function pass(walker: Walker, ms: number): void {
  const end = walker.now + ms;
  pollNow(walker);
  for (let turn = 0; walker.now < end; turn += 1) {
    const spacing = turn < QUIET_AFTER ? 1000 + ((turn * 3777) % 8000) : 11_000 + ((turn * 3777) % 3900);
    const next = Math.min(end, walker.now + spacing);
    grow(walker, next - walker.now);
    walker.now = next;
    if (next < end) pollNow(walker);
  }
}

function badPolls(walker: Walker, ms: number): void {
  const end = walker.now + ms;
  while (walker.now < end) {
    poll(walker, [["mode", null, "bad"]]);
    const next = Math.min(end, walker.now + 9000);
    grow(walker, next - walker.now);
    walker.now = next;
  }
  walker.sent.clear();
  pollNow(walker);
}

function silent(walker: Walker, ms: number, retries: boolean): void {
  const end = walker.now + ms;
  while (retries && walker.now + 120_000 < end) {
    walker.now += 120_000;
    add(walker, { kind: "poll", ...stampOf(walker), group: "fast", answered: false, changes: [] });
  }
  grow(walker, ms);
  walker.now = end;
}

function grow(walker: Walker, ms: number): void {
  if ([3, 4, 5, 6, 7, 8].includes(walker.code)) walker.run_ms += ms;
  if ([3, 4, 5, 6, 7].includes(walker.code)) walker.exhaust_ms += ms;
}

function pollNow(walker: Walker): void {
  const tenths = (ms: number): number => Math.floor(ms / 6000) / 10;
  const values: [string, TagValue][] = [
    ["mode", walker.code],
    ["cycles", walker.cycles],
    ["meter", tenths(walker.run_ms)],
    ["exhaust", tenths(walker.exhaust_ms)],
    ["uptime", Math.floor((walker.now - walker.uptime_at) / 3_600_000)],
  ];
  const changed = values.filter(([tag, value]) => walker.sent.get(tag) !== value);
  for (const [tag, value] of changed) walker.sent.set(tag, value);
  poll(
    walker,
    changed.map(([tag, value]) => [tag, value, "good"]),
  );
}

function poll(walker: Walker, changes: readonly (readonly [string, TagValue, Quality])[]): void {
  add(walker, { kind: "poll", ...stampOf(walker), group: "fast", answered: true, changes });
}

function clock(walker: Walker): void {
  record(walker, {
    kind: "t",
    value: { wall: WALK_T0 + walker.now + walker.wall_off, state: "synced", witness: "kernel" },
  });
}

type Input = LogRecord extends infer R ? (R extends LogRecord ? Pick<R, "kind" | "value"> : never) : never;

function record(walker: Walker, { kind, value }: Input): void {
  const whole = { kind, value, ...stampOf(walker), tag: "", quality: "good" } as LogRecord;
  add(walker, { kind: "record", record: whole });
}

function stampOf({ boot, boot_at, now, wall_off }: Walker): { boot: string; mono: number; at: number } {
  return { boot: `boot-${boot}`, mono: now - boot_at, at: WALK_T0 + now + wall_off };
}

function add({ entries }: Walker, entry: Draft<TakenEntry>): void {
  entries.push({ ...entry, take: entries.length + 1, stream: "s" });
}
