import { cpus } from "node:os";
import { aligned } from "../support/aligned.ts";
import type { Look, Trend } from "./fit.ts";
import type { SoakResult } from "./soak.ts";

const LINES = 20;

/** Formats a run as a text to be kept. Pure except for the machine's name. */
export function reportOf({ options, looks, trend, struck, ...result }: SoakResult): string {
  const total = [...struck.values()].reduce((all, count) => all + count, 0);
  const { seconds, speed, seed } = options;
  const facts: readonly (readonly [string, string])[] = [
    ["machine", `${cpus().length} x ${cpus()[0]?.model ?? "unknown"}, Node ${process.version}`],
    ["run", `${seconds} s at ${speed} times the booth's time, seed ${seed}`],
    ["booth life", `${((seconds * speed) / 3_600).toFixed(1)} h`],
    ["requests to the PLC", result.polls.toString()],
    ["records delivered", result.records.toString()],
    ["lost, doubled", `${result.lost}, ${result.doubled}`],
    ["faults", `${total} (${[...struck].map(([name, count]) => `${name} ${count}`).join("; ")})`],
    ["live memory", grownBy(trend.live)],
    ["private memory", grownBy(trend.taken)],
    ["resident memory", `${trend.most_resident_mb.toFixed(1)} MB at most`],
    ["open files", `${trend.files_before} in the first half, ${trend.files_after} in the second`],
    ["write-ahead log", `${trend.most_wal_mb.toFixed(2)} MB at most`],
    ["backlog", `${trend.most_backlog} records at most, none in the end`],
    ["result", result.troubles.length === 0 ? "passed" : `FAILED: ${result.troubles.join("; ")}`],
  ];
  return `${aligned(facts)}\n\n${aligned([HEAD, ...someOf(looks).map(cellsOf)])}\n`;
}

function grownBy({ slope_mb_per_h, growth_mb, allowed_mb }: Trend["live"]): string {
  const slope = signed(slope_mb_per_h);
  const growth = signed(growth_mb);
  return `${slope} MB/h after warm-up, ${growth} MB in all, ${allowed_mb.toFixed(1)} allowed`;
}

const HEAD = ["at s", "live MB", "private MB", "resident MB", "files", "WAL MB", "backlog"];

function cellsOf({ at_s, live_mb, private_mb, resident_mb, files, wal_mb, backlog }: Look): string[] {
  const numbers = [at_s, live_mb, private_mb, resident_mb].map((value) => value.toFixed(1));
  return [...numbers, files.toString(), wal_mb.toFixed(2), backlog.toString()];
}

function someOf(looks: readonly Look[]): readonly Look[] {
  const step = Math.max(1, Math.ceil(looks.length / LINES));
  return looks.filter((_, index) => index % step === 0 || index === looks.length - 1);
}

function signed(value: number): string {
  return `${value < 0 ? "" : "+"}${value.toFixed(2)}`;
}
