import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import type { Target } from "./target.ts";

const CORPUS = fileURLToPath(new URL("corpus", import.meta.url));

export interface Entry {
  readonly file: string;
  readonly bytes: Buffer;
}

/** Returns the inputs of a target by name. Lines of a hex file that begin with # describe the input. */
export function corpusOf({ name, format }: Pick<Target, "name" | "format">): readonly Entry[] {
  const folder = join(CORPUS, name);
  const files = readdirSync(folder).sort();
  if (files.length === 0) throw new Error(`${folder} is empty`);
  return files.map((file) => {
    const content = readFileSync(join(folder, file));
    return { file, bytes: format === "text" ? content : Buffer.from(hexIn(content.toString("utf8")), "hex") };
  });
}

function hexIn(text: string): string {
  return text
    .split("\n")
    .filter((line) => !line.startsWith("#"))
    .join("")
    .replaceAll(/\s/g, "");
}

/** Stores an input that failed, so that each later run tries it first. Returns its file. */
export function keep({ name, format }: Pick<Target, "name" | "format">, bytes: Buffer): string {
  const folder = join(CORPUS, name);
  mkdirSync(folder, { recursive: true });
  const sum = createHash("sha256").update(bytes).digest("hex").slice(0, 12);
  const file = join(folder, `found-${sum}.${format === "hex" ? "hex" : "txt"}`);
  writeFileSync(file, format === "hex" ? `${bytes.toString("hex").replaceAll(/(.{118})/g, "$1\n")}\n` : bytes);
  return file;
}
