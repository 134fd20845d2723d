import { execFileSync, spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { fillStore } from "../support/filled-store.ts";
import { BITS_PER_POLL, CHANGES_PER_POLL } from "../support/sixty-tags.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { deviceBytesPerDay } from "./device-bytes.ts";
import {
  comparedFigure,
  figureOf,
  limitedFigure,
  notMeasured,
  withCleanUp,
  type BenchOptions,
  type Family,
  type Figure,
} from "./figure.ts";

/** Costs of storing 60 tags at 1 Hz: flash, bytes, a restart, a day's history. */

const START = fileURLToPath(new URL("store-start.ts", import.meta.url));
/** Commits measured, once the file and its write-ahead log have their usual size. */
const COMMITS = { quick: 60, full: 720 };
/** Rounds of a day's history by the days that the store holds. */
const ROUNDS = { 1: 5, 30: 51 } as const;
const TARGET_MB = { 1: Infinity, 10: 100, 60: 20 } as const;

/** Compares the bytes that the store makes a device write with the same rows appended to a file. */
async function flashFigure(every_s: 1 | 10 | 60, size: keyof typeof COMMITS): Promise<Figure> {
  const seconds = every_s * COMMITS[size];
  const mbOf = async (way: "store" | "file"): Promise<number> =>
    (await deviceBytesPerDay({ way, seconds, every_s })) / 1e6;
  // Bytes are counted, so it does not matter what else runs.
  const [value, anchor] = await Promise.all([mbOf("store"), mbOf("file")]);
  const of = "rows in a file"; // appended with fdatasync
  const name = `store.mb_per_day_${every_s}s`;
  const figure = comparedFigure({ name, value, unit: "MB", anchor, atMost: 3, of });
  const most = TARGET_MB[every_s];
  if (most === Infinity) return figure;
  return {
    ...figure,
    target: `${figure.target}, <= ${most} MB`,
    reached: figure.reached === true && value <= most,
  };
}

/** The output of store-start.ts. */
interface Started {
  readonly start_ms: number;
  /** A day of one tag, and the least that it can cost. */
  readonly history: { readonly cpu_ms: number; readonly least_cpu_ms: number };
}

function sizeFigures(days: keyof typeof ROUNDS): Promise<Figure[]> {
  return withCleanUp((atEnd) => {
    const folder = temporaryFolder(undefined, atEnd);
    const { changes, packed_bytes, file_bytes } = fillStore(folder, days);
    const args = [START, folder, days.toString(), ROUNDS[days].toString()];
    const { start_ms, history } = JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" })) as Started;
    const bytes = packed_bytes / changes;
    return Promise.resolve([
      figureOf({
        name: "store.bytes_per_change",
        value: bytes,
        unit: "B",
        anchor: BITS_PER_POLL / 8 / CHANGES_PER_POLL,
        target: "<= 1 B",
        note: "in closed chunks; anchor: the entropy",
        reached: bytes <= 1,
      }),
      limitedFigure({ name: "store.file_bytes_per_change", value: file_bytes / changes, unit: "B" }, 1.3),
      limitedFigure({ name: "store.mb_for_30_days", value: (file_bytes / days) * (30 / 1e6), unit: "MB" }, 15),
      limitedFigure({ name: `store.start_${days}_days_ms`, value: start_ms, unit: "ms" }, 3_000),
      comparedFigure({
        name: "query.history_day_cpu_ms",
        value: history.cpu_ms,
        unit: "ms",
        anchor: history.least_cpu_ms,
        atMost: 3,
        of: "inflating",
      }),
    ]);
  });
}

async function run({ quick }: BenchOptions): Promise<readonly Figure[]> {
  const hasCompiler = spawnSync("cc", ["--version"]).status === 0;
  const size = quick ? "quick" : "full";
  const flash = hasCompiler
    ? await Promise.all(([1, 10, 60] as const).map((every_s) => flashFigure(every_s, size)))
    : [notMeasured("store.mb_per_day_10s", "MB", "there is no C compiler for the recorder of writes")];
  return [...flash, ...(await sizeFigures(quick ? 1 : 30))];
}

export const storeFamily: Family = { name: "store", run };
