import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** A libmodbus client in a process of its own, which measures itself. */
export interface LibmodbusLoop {
  /** Returns the CPU time of one read in microseconds, over so many reads. */
  readonly micros: (reads: number) => Promise<number>;
  readonly stop: () => void;
}

/** Starts a client that reads 125 registers again and again. Returns null if libmodbus is not installed. */
export function startLibmodbus(port: number): LibmodbusLoop | null {
  if (spawnSync("pkg-config", ["--exists", "libmodbus"]).status !== 0) return null;
  const folder = mkdtempSync(join(tmpdir(), "bench-"));
  const program = join(folder, "client");
  const flags = execFileSync("pkg-config", ["--cflags", "--libs", "libmodbus"], { encoding: "utf8" });
  const source = fileURLToPath(new URL("libmodbus_client.c", import.meta.url));
  execFileSync("cc", ["-O2", "-o", program, source, ...flags.trim().split(/\s+/)]);
  const child = spawn(program, [port.toString()], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout });
  return {
    micros: async (reads) => {
      const answered = once(lines, "line") as Promise<[string]>;
      child.stdin.write(`${reads}\n`);
      const [line] = await answered;
      return Number(line);
    },
    stop: () => {
      child.stdin.end();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
