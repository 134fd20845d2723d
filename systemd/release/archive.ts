import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { constants, gzipSync } from "node:zlib";

/** The names and rights that all files of an archive get, so that it doesn't depend on who makes it. */
const SAME = ["--sort=name", "--format=gnu", "--owner=0", "--group=0", "--numeric-owner", "--mode=u=rwX,go=rX"];

/** Returns a tar archive of a folder's files, or of the named ones. Same files, same time given: same bytes. */
export function tarOf(
  folder: string,
  made_at: Date,
  { options = [], names = ["."] }: { readonly options?: readonly string[]; readonly names?: readonly string[] } = {},
): Buffer {
  const file = `${folder}.tar`;
  const time = `--mtime=@${Math.floor(made_at.getTime() / 1000)}`;
  execFileSync("tar", [...SAME, ...options, time, "-cf", file, "-C", folder, ...names], { stdio: "inherit" });
  try {
    return readFileSync(file);
  } finally {
    rmSync(file);
  }
}

/** Compresses as `gzip -n` does: neither a name nor a time is in it. */
export function gzip(bytes: Uint8Array, quick: boolean): Buffer {
  return gzipSync(bytes, { level: quick ? constants.Z_BEST_SPEED : constants.Z_BEST_COMPRESSION });
}

/** Writes the content of a folder as a compressed archive. Returns the archive's path. */
export function archive(folder: string, file: string, made_at: Date): string {
  writeFileSync(file, gzip(tarOf(folder, made_at, { options: [`--transform=s,^\\.,${nameWithin(file)},`] }), false));
  return file;
}

/** The folder that an archive unpacks to: its own name. */
function nameWithin(file: string): string {
  return file.slice(join(file, "..").length + 1).replace(/\.tar\.gz$/, "");
}
