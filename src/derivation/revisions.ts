import type { TagValue } from "../domain/booth.ts";
import type { TagRole } from "../domain/parameters.ts";
import type { Milliseconds } from "../domain/units.ts";
import { tagWithRole } from "./roles.ts";
import { type DeriveState, type Fold, type RevisionState, stamp } from "./state.ts";

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

/** The present instant is complete: what was read, if it is new, becomes a candidate. */
export function finishRevisions({ state }: Fold): void {
  finishItem(state, "firmware", state.revisions.firmware);
  finishItem(state, "program", state.revisions.program);
}

function finishItem(state: DeriveState, item: Item, revision: RevisionState): void {
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
  }
}

/**
 * Time has passed: a candidate that stood long enough is entered. It stands as far as its strings were polled, so a
 * value that was read once before an outage waits for its next good read.
 */
export function passRevisionTime(fold: Fold): void {
  const { firmware, program } = fold.state.revisions;
  if (firmware.candidate !== null) passCandidate(fold, "firmware", firmware);
  if (program.candidate !== null) passCandidate(fold, "program", program);
}

function passCandidate(fold: Fold, item: Item, revision: RevisionState): void {
  const { candidate } = revision;
  const { now, boot, mono } = fold.state.clock;
  if (candidate === null) return;
  const until = readUntil(fold.state, item);
  const elapsed =
    candidate.first_boot === boot ? until - candidate.first_mono : now - (mono - until) - candidate.first_seen_at;
  if (elapsed >= UNCHANGED_MS) enterRevision(fold, item, revision);
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

/** Mono up to which all of the item's strings were read well; -Infinity: they aren't at the moment. */
function readUntil(state: DeriveState, item: Item): Milliseconds {
  const roles: TagRole[] = item === "firmware" ? ["firmware_version"] : ["plc_program", "plc_program_revision"];
  const untils = roles.map((role) => {
    const tag = tagWithRole(state.parameters, role);
    if (tag === undefined) return state.clock.mono;
    const group = state.groups[state.parameters?.tags[tag]?.group ?? ""];
    if (group?.boot !== state.clock.boot || state.latest[tag]?.quality === "bad") return -Infinity;
    return Math.min(group.to, state.clock.mono);
  });
  return Math.min(...untils);
}

/** Trimmed; null for what is empty, holds control characters, or lost characters on the way. */
function textOf(value: TagValue): string | null {
  if (typeof value !== "string") return typeof value === "number" ? String(value) : null;
  const text = value.trim();
  // A NUL-filled string is what an unfinished download looks like.
  return text === "" || /[\u0000-\u001f\u007f\ufffd]/.test(text) ? null : text;
}
