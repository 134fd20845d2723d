import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { operationsIn, recorderIn } from "../store/power/recording.ts";

const CONTENDER = fileURLToPath(new URL("store-contender.ts", import.meta.url));
/** The kernel writes a file's dirty parts in blocks of this size. */
const BLOCK_BYTES = 4_096;

export interface Contender {
  readonly way: "store" | "file";
  readonly seconds: number;
  readonly every_s: number;
}

/**
 * Bytes that a contender makes a device write in a day: the blocks that were written to between two syncs of a file, each
 * counted once. What the file system adds for its own journal is left out, for all alike.
 */
export async function deviceBytesPerDay({ way, seconds, every_s }: Contender): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "bench-"));
  const recorded = join(folder, "data");
  const file = join(folder, "record");
  try {
    mkdirSync(recorded);
    const environment = recorderIn(folder, { recorded, file });
    const options = [way, recorded, seconds, every_s].map(String);
    await promisify(execFile)(process.execPath, [CONTENDER, ...options], { env: { ...process.env, ...environment } });
    return (deviceBytes(file) * 86_400) / seconds;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function deviceBytes(file: string): number {
  const dirty = new Map<string, Set<number>>();
  let blocks = 0;
  for (const operation of operationsIn(file)) {
    if (operation.kind === "write") {
      const { name, offset, data } = operation;
      const own = dirty.get(name) ?? new Set<number>();
      dirty.set(name, own);
      const last = Math.floor((offset + data.length - 1) / BLOCK_BYTES);
      for (let block = Math.floor(offset / BLOCK_BYTES); block <= last; block += 1) own.add(block);
    } else if (operation.kind === "sync") {
      blocks += dirty.get(operation.name)?.size ?? 0;
      dirty.delete(operation.name);
    }
  }
  for (const left of dirty.values()) blocks += left.size;
  return blocks * BLOCK_BYTES;
}
