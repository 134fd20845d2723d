import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Milliseconds, Seq, StreamId } from "../domain/units.ts";
import type { OutputMachine } from "./port.ts";

/** A sequence number by output, then by stream. */
type Reached = Record<string, Record<StreamId, Seq>>;

/**
 * The position of each output in each log, with the notes that outputs keep. Every change is written to a file on a tmpfs, which
 * survives a kill, and from time to time to the identity's database on the disk, which survives a power cut. A power cut
 * therefore repeats what was sent since the last save; QoS 1 allows that. A new position in a new log is saved to the disk at
 * once: otherwise a power cut would make the log new again, and the records in between would be skipped. If the file cannot be
 * written, the log says so once and the outputs continue.
 */
export interface Cursors {
  /** The last record the output has sent or skipped; null: the log is new to the output. */
  after(output: string, stream: StreamId): Seq | null;
  moved(output: string, stream: StreamId, to: Seq): void;
  /** Sets the position in a log that is new to the output, on the disk too. */
  began(output: string, stream: StreamId, at: Seq): void;
  /** Moves the position back once per salvage of the log: records from `from` on have other seqs than before. */
  salvaged(output: string, stream: StreamId, from: Seq): void;
  /** Returns what `setNote` kept; a few hundred bytes. */
  note(output: string): unknown;
  /** Keeps a note, on the disk too, because nothing can rebuild it. Never rejects. */
  setNote(output: string, note: unknown): Promise<void>;
  /** Removes an output. One of the same name starts from the beginning. */
  forget(output: string): void;
  /** Saves to the disk. Never rejects. */
  save(): Promise<void>;
}

/** Key in the identity's database. */
const NAME = "outputs";
/** Interval of saves to the disk: each one wears the flash. */
export const SAVE_MS: Milliseconds = 600_000;

interface Kept {
  readonly reached: Reached;
  /** Start of the last salvage that the output has handled. */
  readonly salvaged: Reached;
  readonly notes: Record<string, unknown>;
}

/** Opens the cursors of these outputs: from the tmpfs, or after a power cut from the disk. Others are dropped. */
export async function openCursors(
  { identity, cursor_file, log }: Pick<OutputMachine, "identity" | "cursor_file" | "log">,
  names: readonly string[],
): Promise<Cursors> {
  const kept = inFile(cursor_file) ?? keptIn(await identity.kept(NAME)) ?? { reached: {}, salvaged: {}, notes: {} };
  const only = <T>(all: Record<string, T>): Record<string, T> =>
    Object.fromEntries(Object.entries(all).filter(([name]) => names.includes(name)));
  const reached = only(kept.reached);
  const salvaged = only(kept.salvaged);
  const notes = only(kept.notes);
  const all: Kept = { reached, salvaged, notes };
  let isReported = false;
  const write = (): void => {
    try {
      writeKept(cursor_file, all);
    } catch (error) {
      const text = "how far the outputs have come can't be kept: after a kill some of it goes twice";
      if (!isReported) log.warn({ event: "output_cursors", error }, text);
      isReported = true;
    }
  };
  const save = async (): Promise<void> => {
    try {
      await identity.keep(NAME, all);
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
      // Not awaited: the output continues if the disk cannot be written.
      void save();
    },
    salvaged(output, stream, from) {
      if (from <= (salvaged[output]?.[stream] ?? 0)) return;
      (salvaged[output] ??= {})[stream] = from;
      const after = reached[output]?.[stream];
      if (after === undefined) write();
      else moved(output, stream, Math.min(after, from - 1));
    },
    forget(output) {
      for (const part of [reached, salvaged, notes]) Reflect.deleteProperty(part, output);
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

/** Throws if the file cannot be written. No old file is left then: it would win over the newer copy on the disk. */
function writeKept(path: string, kept: Kept): void {
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
    // The deleted file made room on a full tmpfs.
    write();
  }
}

function inFile(path: string): Kept | null {
  try {
    return keptIn(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    // Missing after a power cut, or truncated: the copy on the disk is used.
    return null;
  }
}

function keptIn(value: unknown): Kept | null {
  const { reached, salvaged = {}, notes } = (value ?? {}) as Partial<Kept>;
  return reached === undefined || notes === undefined ? null : { reached, salvaged, notes };
}
