import { type BoothLog, parametersAt, type Sample, samplesOf, tagsOfRole } from "./log.ts";

const STEADY_MS = 60_000;

/** A firmware version, or a program with its revision, and when it was first read. */
export interface Revision {
  readonly values: readonly string[];
  readonly first_seen_at: number;
  /** Found at first contact: when it was installed isn't known. */
  readonly initial: boolean;
}

export interface Revisions {
  readonly firmware: readonly Revision[];
  /** values: program, revision. */
  readonly program: readonly Revision[];
}

export function findRevisions(log: BoothLog): Revisions {
  return {
    firmware: historyOf(log, ["firmware_version"]),
    program: historyOf(log, ["plc_program", "plc_program_revision"]),
  };
}

type RevisionRole = "firmware_version" | "plc_program" | "plc_program_revision";

interface Change {
  readonly time: number;
  readonly values: readonly string[];
}

function historyOf(log: BoothLog, roles: readonly RevisionRole[]): Revision[] {
  const tags = roles.flatMap((role) => tagsOfRole(log, role).slice(0, 1));
  const changes = changesOf(tags.map(({ name }) => samplesOf(log, name)));
  const out: Revision[] = [];
  changes.forEach((change, i) => {
    const same = out.at(-1)?.values.join("\n") === change.values.join("\n");
    const group = parametersAt(log, change.time)?.tags[tags[0]?.name ?? ""]?.group ?? "";
    if (
      !same &&
      lastRead(log, group, { from: change.time, until: changes[i + 1]?.time ?? Infinity }) - change.time >= STEADY_MS
    ) {
      out.push({ values: change.values, first_seen_at: change.time, initial: out.length === 0 });
    }
  });
  return out;
}

/** Instants at which the combination of values changed; nothing before every tag has been read once. */
function changesOf(lists: readonly (readonly Sample[])[]): Change[] {
  const readings = lists.flatMap((list, column) =>
    list.filter((sample) => sample.good && isWhole(sample.value)).map((sample) => ({ ...sample, column })),
  );
  readings.sort((a, b) => a.time - b.time);
  const held: string[] = [];
  const out: Change[] = [];
  readings.forEach((reading, i) => {
    held[reading.column] = String(reading.value).trim();
    // Values read in the same poll change together.
    if (readings[i + 1]?.time === reading.time) return;
    const values = lists.map((_, column) => held[column]).filter((value) => value !== undefined);
    if (values.length === lists.length && out.at(-1)?.values.join("\n") !== values.join("\n"))
      out.push({ time: reading.time, values });
  });
  return out;
}

/** Empty, partial or NUL-filled text is no version. */
function isWhole(value: Sample["value"]): boolean {
  const text = String(value ?? "");
  return text.trim() !== "" && !text.includes("\u0000");
}

/** The last answered poll of the group before the value changed again. */
function lastRead(log: BoothLog, group: string, { from, until }: { from: number; until: number }): number {
  let last = from;
  for (const cover of log.covers.get(group) ?? []) {
    if (cover.from >= until) break;
    if (cover.to >= from) last = Math.max(last, Math.min(cover.to, until));
  }
  return last;
}
