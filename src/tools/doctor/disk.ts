import { existsSync, statfsSync } from "node:fs";
import { dirname } from "node:path";
import type { Config } from "../../config/port.ts";
import { bad, ok, warn, type Finding } from "./finding.ts";

/** Magic number of tmpfs, statfs(2). */
const TMPFS = 0x01021994;
/** Below it the agent can't even put aside what it must. */
const LEAST_FREE_BYTES = 20_000_000;
const MB = 1_000_000;

/** Room for the data, and whether the runtime folder wears the flash. */
export function examineDisk({ data_dir, runtime_dir, store, booths }: Config): readonly Finding[] {
  const disk = diskOf(data_dir);
  return [
    spaceFinding(data_dir, { ...disk, wanted: store.max_bytes * Math.max(1, booths.length) }),
    ...(existsSync(runtime_dir) ? [runtimeFinding(runtime_dir, diskOf(runtime_dir).type)] : []),
  ];
}

function diskOf(path: string): { readonly free: number; readonly files: number | null; readonly type: number } {
  const { bavail, bsize, ffree, files, type } = statfsSync(existing(path));
  return { free: bavail * bsize, files: files === 0 ? null : ffree, type };
}

function existing(path: string): string {
  return existsSync(path) || path === dirname(path) ? path : existing(dirname(path));
}

/** Pure. `wanted`: what the booths may take altogether, of which some is used already. */
export function spaceFinding(
  folder: string,
  { free, files, wanted }: { readonly free: number; readonly files: number | null; readonly wanted: number },
): Finding {
  const said = `${mb(free)} free at ${folder}; the booths may take ${mb(wanted)} altogether`;
  if (files === 0) return bad("disk", `no inode is left at ${folder}`, `delete files that nobody needs at ${folder}`);
  if (free < LEAST_FREE_BYTES) return bad("disk", said, `free space at ${folder}: without it readings are lost`);
  if (free < wanted / 2) return warn("disk", said, `free space at ${folder}, or lower store.max_bytes`);
  return ok("disk", said);
}

/** Pure. */
export function runtimeFinding(folder: string, type: number): Finding {
  if (type === TMPFS) return ok("runtime folder", `${folder}, in memory`);
  const todo = "set runtime_dir to a tmpfs such as /run/booth-gateway: each poll is written there, which wears flash";
  return warn("runtime folder", `${folder} lies on a disk`, todo);
}

function mb(bytes: number): string {
  return bytes < 10_000 * MB
    ? `${Math.round(bytes / MB).toString()} MB`
    : `${Math.round(bytes / (1_000 * MB)).toString()} GB`;
}
