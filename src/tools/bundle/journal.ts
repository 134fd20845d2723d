import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import { pick } from "./pick.ts";
import { JOURNAL_SHAPE } from "./shapes.ts";

const LINES = 2_000;
const TIMEOUT_MS = 20_000;
const MAX_BYTES = 16_000_000;

/** The agent's newest lines in the journal, as it wrote them; [] where there is no journal, or no right to it. */
export async function journalLines(): Promise<readonly unknown[]> {
  if (!existsSync("/run/systemd/system")) return [];
  const argv = ["-u", "booth-gateway.service", "-n", LINES.toString(), "-o", "cat", "--no-pager"];
  const limits = { timeout: TIMEOUT_MS, maxBuffer: MAX_BYTES };
  const { stdout } = await promisify(execFile)("journalctl", argv, limits).catch(() => ({ stdout: "" }));
  return stdout.split("\n").flatMap(journalLine);
}

/** Pure. The allowed part of a line that the agent wrote; what others wrote under its name is left out. */
export function journalLine(line: string): unknown[] {
  try {
    const parsed: unknown = JSON.parse(line);
    return typeof parsed === "object" && parsed !== null ? [pick(parsed, JOURNAL_SHAPE)] : [];
  } catch {
    // Not JSON: systemd's own lines, which tell of starts and ends, but could quote anything.
    return [];
  }
}
