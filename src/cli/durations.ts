import { EXIT, type Run } from "./command.ts";
import { print } from "./print.ts";
import { askReport, reportQuery, tableText } from "./report-options.ts";

interface Durations {
  readonly start: string;
  readonly end: string;
  readonly modes: readonly { readonly mode: string; readonly duration: number }[];
  readonly coverage: { readonly observed: number; readonly inferred: number; readonly missing: number };
}

interface Frequencies {
  readonly modes: readonly { readonly mode: string; readonly count: number }[];
}

/** `booth-gateway durations`: time by mode, with how much of it was seen. */
export const durationsCommand: Run = async ({ values, io }) => {
  const query = reportQuery(values, { coverage: "true" });
  const durations = await askReport<Durations>({ values, io }, "duration_by_mode", query);
  const { modes } = await askReport<Frequencies>({ values, io }, "frequency_by_mode", query);
  const starts = new Map(modes.map(({ mode, count }) => [mode, count]));
  const whole = { ...durations, modes: durations.modes.map((one) => ({ ...one, count: starts.get(one.mode) ?? 0 })) };
  print({ values, io }, whole, durationsText);
  return EXIT.ok;
};

export function durationsText(
  answer: Omit<Durations, "modes"> & { readonly modes: readonly { mode: string; duration: number; count: number }[] },
): string {
  const { coverage, modes } = answer;
  const total = modes.reduce((sum, { duration }) => sum + duration, 0);
  const rows = modes
    .toSorted((a, b) => b.duration - a.duration)
    .map(({ mode, duration, count }) => [mode, share(duration, total), duration, count]);
  const seen = [
    `${coverage.observed.toString()} min observed`,
    `${coverage.inferred.toString()} inferred`,
    `${coverage.missing.toString()} missing`,
  ].join(", ");
  return `${answer.start} to ${answer.end}\n${tableText(["mode", "%", "minutes", "starts"], rows)}${seen}\n`;
}

function share(part: number, whole: number): number {
  return whole === 0 ? 0 : Math.round((part / whole) * 1000) / 10;
}
