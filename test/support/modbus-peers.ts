import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const PEERS = fileURLToPath(new URL("../system/peers", import.meta.url));

export const PYMODBUS_SERVER = join(PEERS, "pymodbus_server.py");

/** Compiles the libmodbus server into a folder and gives the program's path. */
export function compileLibmodbus(folder: string): string {
  const program = join(folder, "libmodbus_server");
  const flags = execFileSync("pkg-config", ["--cflags", "--libs", "libmodbus"], { encoding: "utf8" });
  const source = join(PEERS, "libmodbus_server.c");
  execFileSync("cc", ["-O1", "-Wall", "-pthread", "-o", program, source, ...flags.trim().split(/\s+/)]);
  return program;
}
