import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Milliseconds, Seq, StreamId } from "../domain/units.ts";
import type { OutputMachine } from "./port.ts";

/** How far each output has come in each log. */

/** By output, then by stream: a seq. */
type Reached = Record<string, Record<StreamId, Seq>>;

export interface Cursors {
  /** null: the output is new to that log. */
  after(output: string, stream: StreamId): Seq | null;
  moved(output: string, stream: StreamId, to: Seq): void;
  /**
   * Sets where an output begins in a log that is new to it, on the disk too. A power cut before the next saving would otherwise make
   * the log new once more, and what was committed since would be skipped.
   */
  began(output: string, stream: StreamId, at: Seq): void;
  /** The log was salvaged: from that seq on its records are others than before. Once for each salvage. */
  salvaged(output: string, stream: StreamId, from: Seq): void;
  /** What else an output has to remember; small. */
  note(output: string): unknown;
  /** At once on the disk too, as it is rare, and nobody could make it anew. Never rejects. */
  setNote(output: string, note: unknown): Promise<void>;
  /** It is an output's no more: one of that name begins anew. */
  forget(output: string): void;
  /** On the disk. Never rejects. */
  save(): Promise<void>;
}

/** Under which it stands in the identity's database. */
const NAME = "outputs";
/** Each saving costs flash. A power cut costs what was sent since the last one: it goes twice, which QoS 1 allows. */
export const SAVE_MS: Milliseconds = 600_000;

interface Kept {
  /** Everything up to there has gone there, or was passed over. */
  readonly reached: Reached;
  /** Where the last salvage that the output knows of began. */
  readonly salvaged: Reached;
  readonly notes: Record<string, unknown>;
}

/** Goes on from where the outputs of those names stood: by the tmpfs after a kill or a stop, by the disk after a power cut. */
export async function openCursors(
  { identity, cursor_file, log }: Pick<OutputMachine, "identity" | "cursor_file" | "log">,
  names: readonly string[],
): Promise<Cursors> {
  const kept = inFile(cursor_file) ?? keptIn(await identity.kept(NAME)) ?? { reached: {}, salvaged: {}, notes: {} };
  const only = <T>(all: Record<string, T>): Record<string, T> =>
    Object.fromEntries(Object.entries(all).filter(([name]) => names.includes(name)));
  // An output that was taken out and comes back begins anew.
  const reached = only(kept.reached);
  const salvaged = only(kept.salvaged);
  const notes = only(kept.notes);
  const all = (): Kept => ({ reached, salvaged, notes });
  let isTold = false;
  const write = (): void => {
    try {
      keepInFile(cursor_file, all());
    } catch (error) {
      if (!isTold)
        log.warn(
          { event: "output_cursors", error },
          "how far the outputs have come can't be kept: after a kill some of it goes twice",
        );
      isTold = true;
    }
  };
  const save = async (): Promise<void> => {
    try {
      await identity.keep(NAME, all());
    } catch (error) {
      log.warn({ event: "output_cursors", error }, "how far the outputs have come isn't on the disk");
    }
  };
  const moved = (output: string, stream: StreamId, to: Seq): void => {
    (reached[output] ??= {})[stream] = to;
    write();
  };
  return {
    after: (output, stream) => reached[output]?.[stream] ?? null,
    moved,
    began(output, stream, at) {
      moved(output, stream, at);
      // Not awaited: on a disk that can't be written the output goes on.
      void save();
    },
    salvaged(output, stream, from) {
      const known = salvaged[output]?.[stream] ?? 0;
      const after = reached[output]?.[stream];
      if (from <= known) return;
      (salvaged[output] ??= {})[stream] = from;
      if (after !== undefined) (reached[output] ??= {})[stream] = Math.min(after, from - 1);
      write();
    },
    forget(output) {
      for (const all of [reached, salvaged, notes]) Reflect.deleteProperty(all, output);
      write();
    },
    note: (output) => notes[output],
    async setNote(output, note) {
      notes[output] = note;
      write();
      await save();
    },
    save,
  };
}

/** Throws where it can't be kept, and then nothing old is left there: it would count more than the newer one on the disk. */
function keepInFile(path: string, kept: Kept): void {
  const next = `${path}.new`;
  const write = (): void => {
    writeFileSync(next, JSON.stringify(kept), { mode: 0o600 });
    renameSync(next, path);
  };
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  try {
    write();
  } catch {
    for (const old of [next, path]) rmSync(old, { force: true });
    // On a full tmpfs there is room now for as much as stood there.
    write();
  }
}

function inFile(path: string): Kept | null {
  try {
    return keptIn(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    // None there, as after a power cut, or one that was cut short: the disk's counts.
    return null;
  }
}

function keptIn(value: unknown): Kept | null {
  if (typeof value !== "object" || value === null) return null;
  const { reached, salvaged = {}, notes } = value as { reached?: unknown; salvaged?: unknown; notes?: unknown };
  if (typeof reached !== "object" || reached === null || typeof notes !== "object" || notes === null) return null;
  return { reached: reachedIn(reached), salvaged: reachedIn(salvaged ?? {}), notes: { ...notes } };
}

function reachedIn(value: object): Reached {
  return Object.fromEntries(Object.entries(value).map(([name, of]) => [name, seqsIn(of)] as const));
}

function seqsIn(value: unknown): Record<StreamId, Seq> {
  const entries = typeof value === "object" && value !== null ? Object.entries(value) : [];
  return Object.fromEntries(entries.filter((entry): entry is [string, number] => Number.isSafeInteger(entry[1])));
}
