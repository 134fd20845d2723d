import { type Mode, MODES_BY_PRIORITY } from "../../../src/domain/booth.ts";
import type { Stage } from "./stage.ts";

/** The booth's stages: at each instant the higher-priority mode of its bays; equal neighbors unite. */
export function uniteBays(bays: readonly (readonly Stage[])[]): readonly Stage[] {
  const [only, ...more] = bays;
  if (only === undefined) return [];
  if (more.length === 0) return only;
  const cuts = [...new Set(bays.flatMap((stages) => stages.flatMap(({ start, end }) => [start, end])))].sort(
    (a, b) => a - b,
  );
  const at = bays.map(() => 0);
  const out: Stage[] = [];
  cuts.slice(0, -1).forEach((start, i) => {
    const end = cuts[i + 1] ?? start;
    const present = bays.flatMap((stages, bay) => {
      while ((stages[at[bay] ?? 0]?.end ?? Infinity) <= start) at[bay] = (at[bay] ?? 0) + 1;
      const stage = stages[at[bay] ?? 0];
      return stage !== undefined && stage.start <= start ? [stage] : [];
    });
    const mode = highest(present.map((stage) => stage.mode));
    const last = out.at(-1);
    if (last?.mode === mode) out[out.length - 1] = { ...last, end };
    else out.push({ mode, start, end, is_new_start: isNewStart(out, mode), after_restart: false, uncertain_ms: 0 });
  });
  return out;
}

function highest(modes: readonly Mode[]): Mode {
  return MODES_BY_PRIORITY.find((mode) => modes.includes(mode)) ?? "no_data";
}

function isNewStart(before: readonly Stage[], mode: Mode): boolean {
  return before.at(-1)?.mode !== "no_data" || before.at(-2)?.mode !== mode;
}
