import type { ClockRecord, Reading } from "../../domain/record.ts";
import type { EpochMs, Milliseconds, TagName } from "../../domain/units.ts";
import type { ChecksFold } from "./state.ts";
import { isWitnessed } from "../clock.ts";
import { judge, report } from "../timeline/events.ts";
import { say } from "../../domain/sentences.ts";

/** A PLC's or a server's clock may be off by this. */
const SKEW_MS: Milliseconds = 60_000;
/** A clock that is put by more than this was wrong. */
const STEP_MS: Milliseconds = 2000;

/**
 * A reading's own time against ours. A value that stands keeps the time at which it was taken, which may be long ago; so the
 * past proves something only where the value changed while it was polled without a break. Told of at the first bay's mode,
 * as a server has one clock for all its tags.
 */
export function checkSourceTime(fold: ChecksFold, { tag, value, quality, source_at }: Reading): void {
  const { seen } = fold;
  if (source_at === undefined || quality === "bad" || !seen.clock.synced) return;
  const ahead = source_at - seen.clock.now;
  const changed = changedJustNow(seen, tag, value);
  if (ahead <= SKEW_MS && !changed) return;
  compare(fold, seen.bays[0]?.tag ?? tag, { ahead, whose: "server" });
}

/** The PLC's own clock, where the profile has it. */
export function checkPlcClocks(fold: ChecksFold): void {
  const { pending, clock, parameters } = fold.seen;
  for (const { tag, value, quality } of pending) {
    const parameter = parameters?.tags[tag];
    if (parameter?.role !== "plc_clock" || quality === "bad" || typeof value !== "number" || !clock.synced) continue;
    const at: EpochMs = value * parameter.factor * (parameter.unit === "ms" ? 1 : 1000);
    compare(fold, tag, { ahead: at - clock.now, whose: "plc" });
  }
}

interface Skew {
  readonly ahead: Milliseconds;
  readonly whose: "plc" | "server";
}

function compare(fold: ChecksFold, tag_name: TagName, skew: Skew): void {
  const isOff = Math.abs(skew.ahead) > SKEW_MS;
  judge(fold, isOff, {
    tag_name,
    check: "clock_skew",
    logic: { op: "clock_skew", max_seconds: SKEW_MS / 1000 },
    reason: isOff ? skewText(skew) : "",
  });
}

function skewText({ ahead, whose }: Skew): string {
  const seconds = Math.round(Math.abs(ahead) / 1000);
  return say(`incident.${whose}_clock_${ahead > 0 ? "ahead" : "behind"}`, { seconds });
}

/** It has another value than before, and its group was polled without a break since that was read. */
function changedJustNow(
  { latest, groups, parameters, clock }: ChecksFold["seen"],
  tag: TagName,
  value: unknown,
): boolean {
  const before = latest[tag];
  const group = groups[parameters?.tags[tag]?.group ?? ""];
  if (before === undefined || before.value === value || before.quality === "bad") return false;
  return group?.boot === clock.boot && before.at >= clock.now - (clock.mono - group.from);
}

/** A wall clock that was put by over 2 s, with or without a witness, is an incident of the gateway's own. */
export function checkStep(fold: ChecksFold, record: ClockRecord): void {
  const { clock } = fold.seen;
  const by = record.value.wall - record.mono - clock.offset;
  const moved = record.value.state === "stepped" || (clock.synced && isWitnessed(record) && Math.abs(by) > STEP_MS);
  if (!moved) return;
  const logic = { op: "clock_skew", max_seconds: STEP_MS / 1000 };
  const reason = say("incident.clock_put", { seconds: by / 1000 });
  report(fold, { tag_name: "", check: "clock_skew", logic, reason });
}
