import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Milliseconds, Seq, StreamId } from "../domain/units.ts";
import type { OutputMachine } from "./port.ts";

/** A sequence number for each output and each log (stream). */
type Reached = Record<string, Record<StreamId, Seq>>;

/**
 * The position of each output in each booth's log, and the notes that outputs keep. Every change is written to a file on a tmpfs, which
 * survives a kill. At intervals everything is also saved to the identity's database on the disk, which survives a power cut. A power cut
 * therefore repeats the messages sent since the last save, which QoS 1 allows.
 *
 * A position in a log that is new to the output is saved to the disk at once. Otherwise a power cut would make the log new again, and the
 * records in between would be skipped. If the file cannot be written, the agent logs this once and the outputs continue.
 */
export interface Cursors {
  /** Returns the last record that the output has sent or skipped; null if the log is new to the output. */
  after(output: string, stream: StreamId): Seq | null;
  moved(output: string, stream: StreamId, to: Seq): void;
  /** Sets the position in a log that is new to the output, and saves it to the disk. */
  began(output: string, stream: StreamId, at: Seq): void;
  /** Moves the position back once for each salvage (repair) of the log. A salvage renumbers the records from `from` on. */
  salvaged(output: string, stream: StreamId, from: Seq): void;
  /** Returns the note that `setNote` kept; a few hundred bytes. */
  note(output: string): unknown;
  /** Keeps a note and saves it to the disk, because nothing can rebuild it. Never rejects. */
  setNote(output: string, note: unknown): Promise<void>;
  /** Removes an output's position and note. A new output of the same name starts from the beginning. */
  forget(output: string): void;
  /** Saves everything to the disk. Never rejects. */
  save(): Promise<void>;
}

/** The key of the cursors in the identity's database. */
const NAME = "outputs";
/** The interval of saves to the disk. It is long, because each save wears the flash. */
export const SAVE_MS: Milliseconds = 600_000;

interface Kept {
  readonly reached: Reached;
  /** The start of the last salvage (repair of a log) that the output has handled. */
  readonly salvaged: Reached;
  readonly notes: Record<string, unknown>;
}

/** Opens the cursors of these outputs, from the tmpfs or after a power cut from the disk. Drops the cursors of all other outputs. */
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
      // Does not wait for the save, because the output continues even if the disk cannot be written.
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

/**
 * Writes the cursors to the cursor file on the tmpfs. If that fails, deletes the old file and tries once more, then throws. The old file
 * must not stay, because `openCursors` would prefer it to the newer copy on the disk.
 */
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
    // Writes again, because the deleted file made room on a full tmpfs.
    write();
  }
}

function inFile(path: string): Kept | null {
  try {
    return keptIn(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    // Uses the copy on the disk if the file is missing after a power cut, or truncated.
    return null;
  }
}

function keptIn(value: unknown): Kept | null {
  const { reached, salvaged = {}, notes } = (value ?? {}) as Partial<Kept>;
  return reached === undefined || notes === undefined ? null : { reached, salvaged, notes };
}
