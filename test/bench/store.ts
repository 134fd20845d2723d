import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { deviceBytesPerDay } from "./device-bytes.ts";
import { comparedFigure, notMeasured, type BenchOptions, type Family, type Figure } from "./figure.ts";
import { BITS_PER_POLL, CHANGES_PER_POLL } from "./sixty-tags.ts";
import { fillStore } from "./store-filled.ts";

/** What storing 60 tags at 1 Hz costs: flash, bytes, a restart, a day's history. */

const START = fileURLToPath(new URL("store-start.ts", import.meta.url));
const POLLS_PER_DAY = 86_400;
/** Commits measured, once the file and its write-ahead log have their usual size. */
const COMMITS = { quick: 60, full: 720 };
/** The naive schema writes so much that a few commits tell. */
const NAIVE_COMMITS = { quick: 10, full: 30 };
/** Rounds of a day's history, each beside the least that it can cost. */
const ROUNDS = { 1: 5, 30: 51 } as const;
const HISTORY_MS = 10;
const TARGET_MB = { 1: null, 10: 100, 60: 20 } as const;

async function flashFigures(every_s: 1 | 10 | 60, size: keyof typeof COMMITS): Promise<Figure[]> {
  const seconds = every_s * COMMITS[size];
  // What is counted here is bytes, whoever else is at work.
  const [ours = NaN, file = NaN, naive = NaN] = await Promise.all(
    (["store", "file", "naive"] as const).map(async (way) => {
      const of = way === "naive" ? every_s * NAIVE_COMMITS[size] : seconds;
      return (await deviceBytesPerDay({ way, seconds: of, every_s })) / 1e6;
    }),
  );
  const name = `store.mb_per_day_${every_s}s`;
  const figure = comparedFigure({
    name,
    value: ours,
    unit: "MB",
    anchor: file,
    atMost: 3,
    of: "the same rows appended to a file with fdatasync",
  });
  const most = TARGET_MB[every_s];
  const isReached = figure.reached === true && (most === null || ours <= most);
  const target = most === null ? figure.target : `${figure.target}, and at most ${most} MB`;
  return [
    { ...figure, target, reached: isReached },
    shown(`store.naive_mb_per_day_${every_s}s`, naive, "MB"),
    shown(`store.file_mb_per_day_${every_s}s`, file, "MB"),
  ];
}

/** Shown beside the others, nothing to reach. */
function shown(name: string, value: number, unit: string): Figure {
  return { name, value, unit, anchor: null, ratio: null, target: "", reached: null };
}

function atMost(name: string, [value, unit]: readonly [number, string], most: number): Figure {
  const target = `at most ${most} ${unit}`;
  return { name, value, unit, anchor: null, ratio: null, target, reached: value <= most };
}

interface Started {
  readonly start: { readonly ms: number; readonly cpu_ms: number };
  /** One tag's day: the first time, later, and the least that it can cost. */
  readonly history: { readonly first_cpu_ms: number; readonly cpu_ms: number; readonly least_cpu_ms: number };
  readonly memory_mb: number;
}

function historyFigures({ first_cpu_ms, cpu_ms, least_cpu_ms }: Started["history"]): Figure[] {
  const of = { name: "query.history_day_cpu_ms", value: cpu_ms, unit: "ms", anchor: least_cpu_ms, atMost: 3 };
  const figure = comparedFigure({ ...of, of: "inflating and reading that tag's bytes alone" });
  // Machines differ by a factor of two from day to day: the ratio counts.
  const target = `${figure.target}; ${HISTORY_MS} ms for orientation`;
  return [{ ...figure, target }, shown("query.history_day_first_cpu_ms", first_cpu_ms, "ms")];
}

function sizeFigures(days: keyof typeof ROUNDS): Figure[] {
  const folder = mkdtempSync(join(tmpdir(), "bench-"));
  try {
    const { changes, packed_bytes, file_bytes } = fillStore(folder, days);
    const told = execFileSync(process.execPath, [START, folder, days.toString(), ROUNDS[days].toString()], {
      encoding: "utf8",
    });
    // The program prints its own shape.
    const { start, history, memory_mb } = JSON.parse(told) as Started;
    const bound = BITS_PER_POLL / 8 / CHANGES_PER_POLL;
    const bytes = packed_bytes / changes;
    return [
      {
        name: "store.bytes_per_change",
        value: bytes,
        unit: "B",
        anchor: bound,
        ratio: bytes / bound,
        target: "at most 1.0 B in closed chunks; anchor: the entropy",
        reached: bytes <= 1,
      },
      atMost("store.file_bytes_per_change", [file_bytes / changes, "B"], 1.3),
      atMost("store.mb_for_30_days", [(file_bytes / days) * (30 / 1e6), "MB"], 15),
      shown(`store.start_${days}_days_cpu_ms`, start.cpu_ms, "ms"),
      atMost(`store.start_${days}_days_ms`, [start.ms, "ms"], 3_000),
      ...historyFigures(history),
      shown("memory.store_mb", memory_mb, "MB"),
    ];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function run({ quick }: BenchOptions): Promise<readonly Figure[]> {
  const hasCompiler = spawnSync("cc", ["--version"]).status === 0;
  const flash = hasCompiler
    ? await Promise.all(([1, 10, 60] as const).map((every_s) => flashFigures(every_s, quick ? "quick" : "full")))
    : [[notMeasured("store.mb_per_day_10s", "MB", "there is no C compiler for the recorder of writes")]];
  const bound = shown("store.entropy_mb_per_day", (BITS_PER_POLL / 8) * (POLLS_PER_DAY / 1e6), "MB");
  return [...flash.flat(), bound, ...sizeFigures(quick ? 1 : 30)];
}

export const storeFamily: Family = { name: "store", run };
