import type { ClockRecord, Reading } from "../../domain/record.ts";
import { recordText } from "../../domain/record-text.ts";
import { MINUTE_MS } from "../../domain/time.ts";
import type { Milliseconds, TagName } from "../../domain/units.ts";
import { isWitnessed } from "../clock.ts";
import { judge, report } from "../incidents.ts";
import type { DeriveState, Fold } from "../state.ts";

/** Allowed deviation of a PLC's or server's clock. */
const SKEW_MS: Milliseconds = MINUTE_MS;
/** Allowed step of the box's own clock. */
const STEP_MS: Milliseconds = 2000;

/**
 * Compares the time that a device gives a reading with the box's time. A value that doesn't change keeps its old time. So a time in the
 * past counts only if the value changed while it was polled without a break. The incident is reported with the mode tag of the first bay,
 * because a server has one clock for all its tags.
 */
export function checkSourceTime(fold: Fold, reading: Reading): void {
  const { clock, bays } = fold.state;
  if (reading.source_at === undefined || reading.quality === "bad" || !clock.synced) return;
  const ahead = reading.source_at - clock.now;
  if (ahead > SKEW_MS || hasJustChanged(fold.state, reading)) {
    judgeSkew(fold, bays[0]?.tag ?? reading.tag, { ahead, clock: "server" });
  }
}

/** Compares the PLC's own clock with the box's clock, if the profile has a tag for it. */
export function checkPlcClocks(fold: Fold): void {
  const { pending, clock, parameters } = fold.state;
  for (const { tag, value, quality } of pending) {
    const parameter = parameters?.tags[tag];
    if (parameter?.role !== "plc_clock" || quality === "bad" || typeof value !== "number" || !clock.synced) continue;
    const at = value * parameter.factor * (parameter.unit === "ms" ? 1 : 1000);
    judgeSkew(fold, tag, { ahead: at - clock.now, clock: "plc" });
  }
}

function judgeSkew(
  fold: Fold,
  tag_name: TagName,
  { ahead, clock }: { readonly ahead: Milliseconds; readonly clock: "plc" | "server" },
): void {
  const isOff = Math.abs(ahead) > SKEW_MS;
  const seconds = Math.round(Math.abs(ahead) / 1000);
  judge(fold, isOff, {
    tag_name,
    check: "clock_skew",
    logic: { op: "clock_skew", max_seconds: SKEW_MS / 1000 },
    reason: isOff ? recordText(`incident.${clock}_clock_${ahead > 0 ? "ahead" : "behind"}`, { seconds }) : "",
  });
}

/** Returns whether the value differs from the previous one, and the tag's group was polled without a break between them. */
function hasJustChanged({ latest, groups, parameters, clock }: DeriveState, { tag, value }: Reading): boolean {
  const before = latest[tag];
  const group = groups[parameters?.tags[tag]?.group ?? ""];
  if (before === undefined || before.value === value || before.quality === "bad") return false;
  return group?.boot === clock.boot && before.at >= clock.now - (clock.mono - group.from);
}

/** Reports that the box's own clock was corrected by more than 2 s, with or without a witness. */
export function checkStep(fold: Fold, record: ClockRecord): void {
  const { clock } = fold.state;
  const { wall, state } = record.value;
  const by = wall - record.mono - clock.offset;
  const isCorrection = clock.synced && isWitnessed(record) && Math.abs(by) > STEP_MS;
  if (state !== "stepped" && !isCorrection) return;
  const logic = { op: "clock_skew", max_seconds: STEP_MS / 1000 };
  report(fold, {
    tag_name: "",
    check: "clock_skew",
    logic,
    reason: recordText("incident.clock_put", { seconds: by / 1000 }),
  });
}
