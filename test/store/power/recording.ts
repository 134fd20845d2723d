import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The recorded operations of a process on one file of the folder, in order. */
export type Operation =
  | { readonly kind: "create" | "sync" | "unlink"; readonly name: string }
  | { readonly kind: "sync folder" }
  | { readonly kind: "write"; readonly name: string; readonly offset: number; readonly data: Buffer }
  | { readonly kind: "truncate"; readonly name: string; readonly length: number }
  | { readonly kind: "rename"; readonly name: string; readonly to: string };

/** Compiles the recorder into the folder with the machine's C compiler. Returns the environment that enables it. */
export function recorderIn(folder: string, of: { recorded: string; file: string }): Record<string, string> {
  const library = join(folder, "recorder.so");
  const source = fileURLToPath(new URL("./recorder.c", import.meta.url));
  execFileSync("cc", ["-O2", "-shared", "-fPIC", "-o", library, source, "-ldl", "-lpthread"]);
  return { LD_PRELOAD: library, RECORD_FOLDER: of.recorded, RECORD_FILE: of.file };
}

/** Reads all recorded operations. Throws if the record is truncated. */
export function operationsIn(file: string): Operation[] {
  const bytes = readFileSync(file);
  const operations: Operation[] = [];
  for (let at = 0; at < bytes.length;) {
    const name_at = at + 16;
    const data_at = name_at + bytes.readUInt8(at + 1);
    const end = data_at + bytes.readUInt32LE(at + 4);
    if (end > bytes.length) throw new Error("the record is cut short");
    const name = bytes.toString("utf8", name_at, data_at);
    const offset = Number(bytes.readBigUInt64LE(at + 8));
    operations.push(
      operationOf(String.fromCharCode(bytes.readUInt8(at)), { name, offset, data: bytes.subarray(data_at, end) }),
    );
    at = end;
  }
  return operations;
}

function operationOf(code: string, { name, offset, data }: { name: string; offset: number; data: Buffer }): Operation {
  switch (code) {
    case "C":
      return { kind: "create", name };
    case "W":
      return { kind: "write", name, offset, data };
    case "T":
      return { kind: "truncate", name, length: offset };
    case "S":
      return { kind: "sync", name };
    case "D":
      return { kind: "sync folder" };
    case "U":
      return { kind: "unlink", name };
    case "R":
      return { kind: "rename", name, to: data.toString("utf8") };
    default:
      throw new Error(`no operation ${code}`);
  }
}
