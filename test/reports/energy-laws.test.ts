import fc from "fast-check";
import { openEndOf } from "../../src/derivation/fold.ts";
import type { Parameters } from "../../src/domain/parameters.ts";
import { energy } from "../../src/reports/energy.ts";
import type { Source } from "../../src/reports/source.ts";
import type { Window } from "../../src/store/port.ts";
import { commit, fold, forget, poll, script, silence, stay, T0, type Folded, type Script } from "../support/booth.ts";
import { withSteps } from "../derivation/folds.ts";
import { law, testLaws } from "../derivation/law.ts";
import { PLAIN, tag } from "../support/parameters.ts";
import { readerOf } from "../support/reader.ts";
import { seedOf } from "../support/seed.ts";

const SIZED: Parameters = {
  ...PLAIN,
  tags: { ...PLAIN.tags, flame: tag("burner_modulation", "%"), fan: tag("fan_speed", "%") },
  burner_size_btu_h: 1_234_567,
  motor_size_hp: 17.5,
};
/** Energy per ms at full load. */
const MOST_THERM = 1_234_567 / 100_000 / 3_600_000;
const MOST_KWH = (17.5 * 0.7457) / 3_600_000;

/** A load, or a bad reading, and its length, followed by a time without polls. */
interface Spell {
  readonly flame: number | null;
  readonly fan: number | null;
  readonly ms: number;
  readonly silent_ms: number;
}
interface Asked {
  readonly life: readonly Spell[];
  /** ms since the start, ascending. */
  readonly at: readonly number[];
  /** Entries per commit. */
  readonly size: number;
}

const load = fc.oneof(fc.integer({ min: -5, max: 110 }), fc.double({ min: 0, max: 100, noNaN: true }));
const spell: fc.Arbitrary<Spell> = fc.record({
  flame: fc.option(load, { freq: 8 }),
  fan: fc.option(load, { freq: 8 }),
  ms: fc.integer({ min: 1000, max: 900_000 }),
  silent_ms: fc.oneof(fc.constantFrom(0, 14_999, 15_000, 15_001), fc.integer({ min: 0, max: 4_000_000 })),
});
const lives: fc.Arbitrary<Asked> = fc.record({
  life: fc.array(spell, { minLength: 1, maxLength: 5 }),
  at: fc
    .array(fc.integer({ min: -600_000, max: 5_000_000 }), { minLength: 3, maxLength: 3 })
    .map((all) => all.toSorted((a, b) => a - b)),
  size: fc.integer({ min: 1, max: 40 }),
});

function lived(life: readonly Spell[]): Script {
  const booth = script(SIZED);
  for (const { flame, fan, ms, silent_ms } of life) {
    stay(booth, ms, { mode: 3, flame, fan });
    silence(booth, silent_ms);
    if (silent_ms > 0) forget(booth);
  }
  poll(booth, { mode: 1, flame: 0, fan: 0 });
  return booth;
}

type Report = (source: Source, window: Window) => Pick<ReturnType<typeof energy>, "gas_therm" | "energy_kwh">;

function sourceOf({ life, size }: Asked): Source {
  const booth = lived(life);
  const reader = readerOf(fold(booth.entries, SIZED, [size]));
  // Places the records once, not for each hour.
  const all = [...reader.log("s", { start: -Infinity, end: Infinity })];
  const log: Source["reader"]["log"] = (_stream, { start, end }) =>
    all.filter(({ time }) => time >= start && time < end);
  return { reader: { ...reader, log }, stream: "s", now_ms: T0 + booth.now + 1000 };
}

/** Converts to whole millionths, to which reports round. */
function millionths(report: Report, source: Source, window: Window): [number, number] {
  const { gas_therm, energy_kwh } = report(source, window);
  return [Math.round((gas_therm ?? NaN) * 1e6), Math.round((energy_kwh ?? NaN) * 1e6)];
}

function addsUp(report: Report, asked: Asked): boolean {
  const source = sourceOf(asked);
  const [start = 0, cut = 0, end = 0] = asked.at.map((ms) => T0 + ms);
  const first = millionths(report, source, { start, end: cut });
  const second = millionths(report, source, { start: cut, end });
  const whole = millionths(report, source, { start, end });
  return whole.every((amount, index) => amount === (first[index] ?? NaN) + (second[index] ?? NaN));
}

/** Energy is never negative, and never above full load over the window. */
function isPossible(report: Report, asked: Asked): boolean {
  const source = sourceOf(asked);
  const [start = 0, , end = 0] = asked.at.map((ms) => T0 + ms);
  const [gas, kwh] = millionths(report, source, { start, end });
  const ms = end - Math.min(end, Math.max(start, T0));
  // Each border of an hour may add a millionth.
  return gas >= 0 && kwh >= 0 && gas <= ms * MOST_THERM * 1e6 + 1 && kwh <= ms * MOST_KWH * 1e6 + 1;
}

type FoldAll = (booth: Script, size: number) => Folded;

/** The work of each hour is the same for all commit sizes. */
function isOfTheLog(folded: FoldAll, { life, size }: Asked): boolean {
  const booth = lived(life);
  const hours = (one: Folded): string => {
    const { state, facts } = openEndOf(one.state, T0 + booth.now);
    const written = [...one.facts, ...facts].filter(({ kind }) => kind === "d").map(({ value }) => value);
    // By hour: which one the state's map got first is no work. A load's reading may make an hour before the time that
    // leads to it is settled.
    const open = Object.entries(state.hours).map(([hour, { work }]) => ({ hour: Number(hour), work }));
    return JSON.stringify([written, open.toSorted((a, b) => a.hour - b.hour)]);
  };
  return hours(folded(booth, size)) === hours(fold(booth.entries, SIZED));
}

const LAWS = [
  law<Report, Asked>({
    name: "the estimated energy of two adjacent windows adds up to that of both together",
    lives,
    right: energy,
    holds: addsUp,
    planted: {
      "a border belongs to both windows": (source, { start, end }) => energy(source, { start, end: end + 60_000 }),
      "an hour's energy is spread evenly over the hour": (source, window) => {
        const log: Source["reader"]["log"] = function* (stream, span) {
          if (window.end - window.start < 3_600_000) return;
          yield* source.reader.log(stream, span);
        };
        return energy({ ...source, reader: { ...source.reader, log } }, window);
      },
    },
  }),
  law<Report, Asked>({
    name: "estimated energy is between 0 and the energy at full load",
    lives,
    right: energy,
    holds: isPossible,
    planted: {
      "a falling load reduces the energy": (source, window) => {
        const { gas_therm, energy_kwh } = energy(source, window);
        return { gas_therm: (gas_therm ?? 0) - 0.01, energy_kwh };
      },
      "time is counted twice": (source, window) => {
        const { gas_therm, energy_kwh } = energy(source, window);
        return { gas_therm, energy_kwh: (energy_kwh ?? 0) * 2 };
      },
    },
  }),
  law<FoldAll, Asked>({
    name: "estimated energy is the same for all commit sizes",
    lives,
    right: (booth, size) => fold(booth.entries, SIZED, [size]),
    holds: isOfTheLog,
    planted: {
      "work within a commit is not counted": (booth, size) => {
        const skipping = withSteps((state, { kind, boot }) => {
          const mark = { boot, mono: state.groups["fast"]?.to ?? 0 };
          return kind === "h" ? { ...state, worked: { burner: mark, fan: mark } } : state;
        });
        return skipping(commit(booth.entries, SIZED, [size]));
      },
      "an hour has the work of another hour": (booth, size) => {
        const folded = fold(booth.entries, SIZED, [size]);
        const { hours } = folded.state;
        const works = Object.values(hours).map(({ work }) => work);
        const exchanged = Object.entries(hours).map(([hour, figures], index) => {
          const work = works.at(index - 1);
          return [hour, work === undefined ? figures : { ...figures, work }] as const;
        });
        return { ...folded, state: { ...folded.state, hours: Object.fromEntries(exchanged) } };
      },
    },
  }),
];

testLaws(LAWS, seedOf("test/reports/energy-laws"));
