import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { DEFAULT_DATA_DIR } from "../domain/places.ts";
import { ConfigError } from "./config-error.ts";
import { inspectText, type UsableConfig } from "./usable.ts";
import { NO_CONFIG_HINT, readSource } from "./yaml-source.ts";

const NAME = "last-good.json";

export interface Lasting {
  readonly usable: UsableConfig;
  /** Why the file itself isn't in use but the last one that was good; null: it is. */
  readonly refused: ConfigError | null;
}

/**
 * The configuration that the agent runs with: the file's, or, where that is broken, half-written or unreadable, the last one that
 * was good. Throws the file's ConfigError where there never was any.
 */
export function loadLasting(path: string, environment: Readonly<Record<string, string | undefined>>): Lasting {
  let text = "";
  try {
    text = readSource(path, NO_CONFIG_HINT);
    const usable = soundIn(text, path);
    // A file that costs a booth is in use, and isn't what the next broken one is replaced by.
    if (usable.refused.length === 0) keep(usable.config.data_dir, { file: resolve(path), text });
    return { usable, refused: null };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const usable = lastGood(path, foldersOf(path, { text, environment }));
    if (usable !== null) return { usable, refused: error };
    if (error instanceof NoBoothLeft) return { usable: error.usable, refused: null };
    throw error;
  }
}

function soundIn(text: string, path: string): UsableConfig {
  const usable = inspectText(text, path);
  if (usable.fatal !== null) throw usable.fatal;
  const [first] = usable.refused;
  if (first !== undefined && usable.booths.length === 0) throw new NoBoothLeft(usable, first.error);
  return usable;
}

/** Each booth of the file is refused: better the last good file than none of them. */
class NoBoothLeft extends ConfigError {
  readonly usable: UsableConfig;
  constructor(usable: UsableConfig, { file, problems }: ConfigError) {
    super(file, problems);
    this.usable = usable;
  }
}

/** Written beside and renamed: at a power cut the one before is whole. A disk that takes nothing costs this copy alone. */
function keep(folder: string, copy: { readonly file: string; readonly text: string }): void {
  const path = join(folder, NAME);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const file = openSync(`${path}.new`, "w", 0o600);
    try {
      writeSync(file, JSON.stringify(copy));
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(`${path}.new`, path);
  } catch (error) {
    // The store itself says more of such a disk, and to more people.
    if (!(error instanceof Error && "code" in error)) throw error;
  }
}

/** Where the copy may lie, when the file can't say any more where the data is. */
function foldersOf(
  path: string,
  { text, environment }: { readonly text: string; readonly environment: Readonly<Record<string, string | undefined>> },
): readonly string[] {
  const named = /^data_dir:[ \t]*["']?([^"'#\r\n]+)/m.exec(text)?.[1]?.trim();
  const folders = [named === undefined ? undefined : resolve(dirname(path), named), environment["STATE_DIRECTORY"]];
  return [...folders.flatMap((folder) => (folder === undefined ? [] : [folder])), DEFAULT_DATA_DIR];
}

function lastGood(path: string, folders: readonly string[]): UsableConfig | null {
  for (const folder of folders) {
    try {
      const copy = JSON.parse(readFileSync(join(folder, NAME), "utf8")) as { file?: unknown; text?: unknown };
      if (copy.file === resolve(path) && typeof copy.text === "string") return soundIn(copy.text, path);
    } catch {
      // No copy there, or one that is spoilt: the next place, and in the end the file's own fault, is what counts.
    }
  }
  return null;
}
