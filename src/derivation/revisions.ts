import type { TagValue } from "../domain/booth.ts";
import type { TagRole } from "../domain/parameters.ts";
import { KIND } from "../domain/record.ts";
import type { Milliseconds } from "../domain/units.ts";
import { tagWithRole } from "./parameters.ts";
import { type DeriveState, type Fold, type RevisionCandidate, writeFact } from "./state.ts";

/**
 * Time for which a version must stay the same before it is accepted. A string may be half written, or a program download may be running.
 */
const UNCHANGED_MS: Milliseconds = 60_000;

const ITEMS = ["firmware", "program"] as const;
type Item = (typeof ITEMS)[number];

/** Notes a good reading of a version string. Ignores empty or broken strings. */
export function readVersion({ revisions: { firmware, program } }: DeriveState, role: TagRole, value: TagValue): void {
  const text = textOf(value);
  if (text === null) return;
  if (role === "firmware_version") firmware.read.version = text;
  if (role === "plc_program") program.read.version = text;
  if (role === "plc_program_revision") program.read.revision = text;
}

/** Notes each new version as a candidate for a change. To be called after all readings of one instant. */
export function noteCandidates({ revisions, parameters, clock }: DeriveState): void {
  for (const item of ITEMS) {
    const known = revisions[item];
    const { version, revision } = known.read;
    const { entered, candidate } = known;
    const hasRevision = item === "program" && tagWithRole(parameters, "plc_program_revision") !== undefined;
    if (version === "" || (hasRevision && revision === "")) continue;
    if (entered?.version === version && entered.revision === revision) known.candidate = null;
    else if (candidate?.version !== version || candidate.revision !== revision) {
      const { now: first_seen_at, boot: first_boot, mono: first_mono } = clock;
      known.candidate = { version, revision, first_seen_at, first_boot, first_mono };
    }
  }
}

/**
 * Accepts candidates that stayed the same for long enough. Only time in which their strings were polled counts. A value that was read once
 * before an outage must be read again.
 */
export function passCandidates(fold: Fold): void {
  const { revisions, clock } = fold.state;
  for (const item of ITEMS) {
    const { candidate } = revisions[item];
    if (candidate === null) continue;
    const { first_boot, first_mono, first_seen_at } = candidate;
    const until = readUntil(fold.state, item);
    const elapsed = first_boot === clock.boot ? until - first_mono : clock.now - (clock.mono - until) - first_seen_at;
    if (elapsed >= UNCHANGED_MS) enterRevision(fold, item, candidate);
  }
}

function enterRevision(fold: Fold, item: Item, { version, revision, first_seen_at }: RevisionCandidate): void {
  const known = fold.state.revisions[item];
  const initial = known.entered === null;
  known.entered = { version, revision, first_seen_at, initial };
  known.candidate = null;
  const names =
    item === "firmware"
      ? { firmware_version: version }
      : { plc_program: version, ...(revision === "" ? {} : { plc_program_revision: revision }) };
  writeFact(fold, { kind: KIND.revision, value: { item, ...names, first_seen_at, initial }, quality: "good" });
}

/** Returns the mono up to which all strings of the item were read well; -Infinity: a string can't be read at present. */
function readUntil({ parameters, groups, latest, clock }: DeriveState, item: Item): Milliseconds {
  const roles: TagRole[] = item === "firmware" ? ["firmware_version"] : ["plc_program", "plc_program_revision"];
  const ends = roles.map((role) => {
    const tag = tagWithRole(parameters, role);
    if (tag === undefined) return clock.mono;
    const group = groups[parameters?.tags[tag]?.group ?? ""];
    const isKnown = group?.boot === clock.boot && latest[tag]?.quality !== "bad";
    return isKnown ? Math.min(group.to, clock.mono) : -Infinity;
  });
  return Math.min(...ends);
}

/** Returns the text without surrounding blanks; null: it is empty, has control characters or lost characters in decoding. */
function textOf(value: TagValue): string | null {
  if (typeof value !== "string") return typeof value === "number" ? String(value) : null;
  const text = value.trim();
  // Returns null for the string of NUL characters that the PLC shows during an unfinished download.
  return text === "" || /[\u0000-\u001f\u007f\ufffd]/.test(text) ? null : text;
}
