import { KIND } from "../domain/record.ts";
import type { TagValue } from "../domain/booth.ts";
import type { TagRole } from "../domain/parameters.ts";
import type { BootId, EpochMs, Milliseconds } from "../domain/units.ts";
import { tagWithRole } from "./parameters.ts";
import type { Slice, SliceFold } from "./timeline/events.ts";

/** Versions of the PLC's firmware and program. */
export interface RevisionsState {
  revisions: { firmware: RevisionState; program: RevisionState };
}

export interface RevisionState {
  /** Last good strings; "": none. */
  read: { version: string; revision: string };
  /** Newest entry; null: none yet. */
  entered: { version: string; revision: string; first_seen_at: EpochMs; initial: boolean } | null;
  candidate: Candidate | null;
}

interface Candidate {
  version: string;
  revision: string;
  first_seen_at: EpochMs;
  first_boot: BootId;
  first_mono: Milliseconds;
}

type Fold = SliceFold<RevisionsState>;

/** A string that is being written, or a PLC in mid-download, doesn't stay the same this long. */
const UNCHANGED_MS: Milliseconds = 60_000;

type Item = "firmware" | "program";

export function emptyRevisions(): RevisionsState {
  const none = (): RevisionState => ({ read: { version: "", revision: "" }, entered: null, candidate: null });
  return { revisions: { firmware: none(), program: none() } };
}

export const revisionsSlice: Slice<RevisionsState> = {
  reading({ own: { revisions } }, { role, reading }) {
    if (role === "firmware_version") readText(reading.value, (text) => (revisions.firmware.read.version = text));
    if (role === "plc_program") readText(reading.value, (text) => (revisions.program.read.version = text));
    if (role === "plc_program_revision") readText(reading.value, (text) => (revisions.program.read.revision = text));
  },
  instant_over(fold) {
    noteCandidate(fold, "firmware");
    noteCandidate(fold, "program");
  },
  due(fold) {
    passCandidate(fold, "firmware");
    passCandidate(fold, "program");
  },
};

/** Empty or broken strings are ignored. */
function readText(value: TagValue, take: (text: string) => void): void {
  const text = textOf(value);
  if (text !== null) take(text);
}

/** The present instant is complete: what was read, if it is new, becomes a candidate. */
function noteCandidate({ own, seen }: Fold, item: Item): void {
  const revision = own.revisions[item];
  const { version, revision: minor } = revision.read;
  if (version === "" || !isWhole(seen, item, minor)) return;
  if (revision.entered?.version === version && revision.entered.revision === minor) {
    revision.candidate = null;
    return;
  }
  const { candidate } = revision;
  const { now, boot, mono } = seen.clock;
  if (candidate?.version !== version || candidate.revision !== minor) {
    revision.candidate = { version, revision: minor, first_seen_at: now, first_boot: boot, first_mono: mono };
  }
}

/**
 * Time has passed: a candidate that stood long enough is entered. It stands as far as its strings were polled, so a
 * value that was read once before an outage waits for its next good read.
 */
function passCandidate(fold: Fold, item: Item): void {
  const { candidate } = fold.own.revisions[item];
  if (candidate === null) return;
  const { now, boot, mono } = fold.seen.clock;
  const until = readUntil(fold.seen, item);
  const elapsed =
    candidate.first_boot === boot ? until - candidate.first_mono : now - (mono - until) - candidate.first_seen_at;
  if (elapsed >= UNCHANGED_MS) enterRevision(fold, item, candidate);
}

function enterRevision(fold: Fold, item: Item, candidate: Candidate): void {
  const revision = fold.own.revisions[item];
  const initial = revision.entered === null;
  const { version, revision: minor, first_seen_at } = candidate;
  revision.entered = { version, revision: minor, first_seen_at, initial };
  revision.candidate = null;
  const names =
    item === "firmware"
      ? { firmware_version: version }
      : { plc_program: version, ...(minor === "" ? {} : { plc_program_revision: minor }) };
  fold.fact({ kind: KIND.revision, value: { item, ...names, first_seen_at, initial }, quality: "good" });
}

function isWhole({ parameters }: Fold["seen"], item: Item, minor: string): boolean {
  return item === "firmware" || minor !== "" || tagWithRole(parameters, "plc_program_revision") === undefined;
}

/** Mono up to which all of the item's strings were read well; -Infinity: they aren't at the moment. */
function readUntil(seen: Fold["seen"], item: Item): Milliseconds {
  const roles: TagRole[] = item === "firmware" ? ["firmware_version"] : ["plc_program", "plc_program_revision"];
  const untils = roles.map((role) => {
    const tag = tagWithRole(seen.parameters, role);
    if (tag === undefined) return seen.clock.mono;
    const group = seen.groups[seen.parameters?.tags[tag]?.group ?? ""];
    if (group?.boot !== seen.clock.boot || seen.latest[tag]?.quality === "bad") return -Infinity;
    return Math.min(group.to, seen.clock.mono);
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
