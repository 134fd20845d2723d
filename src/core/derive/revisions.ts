import type { TagValue } from "../types/booth.ts";
import type { TagRole } from "../types/parameters.ts";
import type { Milliseconds } from "../types/units.ts";
import { isCovered } from "./coverage.ts";
import { tagWithRole } from "./roles.ts";
import type { DeriveState, Fold, RevisionState } from "./state.ts";
import { stamp } from "./state.ts";

/** A string that is being written, or a PLC in mid-download, doesn't stay the same this long. */
const UNCHANGED_MS: Milliseconds = 60_000;

type Item = "firmware" | "program";

/** Takes a good reading of a version string in. Empty or broken strings are ignored. */
export function readRevision(state: DeriveState, role: TagRole, value: TagValue): void {
  const text = textOf(value);
  if (text === null) return;
  if (role === "firmware_version") state.revisions.firmware.read.version = text;
  if (role === "plc_program") state.revisions.program.read.version = text;
  if (role === "plc_program_revision") state.revisions.program.read.revision = text;
}

/** The present instant is complete: takes what was read for a candidate, and enters it once it has stood long enough. */
export function finishRevisions(fold: Fold): void {
  const { firmware, program } = fold.state.revisions;
  finishItem(fold, "firmware", firmware);
  finishItem(fold, "program", program);
}

function finishItem(fold: Fold, item: Item, revision: RevisionState): void {
  const { state } = fold;
  const { version, revision: minor } = revision.read;
  if (version === "" || !isWhole(state, item, minor)) return;
  if (revision.entered?.version === version && revision.entered.revision === minor) {
    revision.candidate = null;
    return;
  }
  const { candidate } = revision;
  const { now, boot, mono } = state.clock;
  if (candidate?.version !== version || candidate.revision !== minor) {
    revision.candidate = { version, revision: minor, first_seen_at: now, first_boot: boot, first_mono: mono };
    return;
  }
  const elapsed = candidate.first_boot === boot ? mono - candidate.first_mono : now - candidate.first_seen_at;
  if (elapsed >= UNCHANGED_MS && isReadNow(state, item)) enterRevision(fold, item, revision);
}

function enterRevision(fold: Fold, item: Item, revision: RevisionState): void {
  const { candidate } = revision;
  if (candidate === null) return;
  const initial = revision.entered === null;
  const { version, revision: minor, first_seen_at } = candidate;
  revision.entered = { version, revision: minor, first_seen_at, initial };
  revision.candidate = null;
  const names =
    item === "firmware"
      ? { firmware_version: version }
      : { plc_program: version, ...(minor === "" ? {} : { plc_program_revision: minor }) };
  fold.facts.push({ kind: "v", ...stamp(fold), value: { item, ...names, first_seen_at, initial }, quality: "good" });
}

function isWhole(state: DeriveState, item: Item, minor: string): boolean {
  return item === "firmware" || minor !== "" || tagWithRole(state.parameters, "plc_program_revision") === undefined;
}

/** The strings are being polled, and the last reading of each was good. */
function isReadNow(state: DeriveState, item: Item): boolean {
  const roles: TagRole[] = item === "firmware" ? ["firmware_version"] : ["plc_program", "plc_program_revision"];
  return roles.every((role) => {
    const tag = tagWithRole(state.parameters, role);
    if (tag === undefined) return true;
    const group = state.groups[state.parameters?.tags[tag]?.group ?? ""];
    return state.latest[tag]?.quality !== "bad" && isCovered(group, state.clock);
  });
}

/** Trimmed; null for what is empty, holds control characters, or lost characters on the way. */
function textOf(value: TagValue): string | null {
  if (typeof value !== "string") return typeof value === "number" ? String(value) : null;
  const text = value.trim();
  // A NUL-filled string is what an unfinished download looks like.
  return text === "" || /[\u0000-\u001f\u007f\ufffd]/.test(text) ? null : text;
}
