import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Outcome } from "../../simulators/conform/requirement.ts";
import { conform } from "../../simulators/conform/run.ts";
import { freePort } from "../system/mosquitto.ts";
import { type AtEnd, temporaryFolder } from "../support/temporary.ts";

const PAGE = readFileSync(new URL("../../docs/service/your-own.md", import.meta.url), "utf8");
/** Debian's Python, even if the path has another one. */
const PYTHON = "/usr/bin/python3";
export const SERIAL = "ABCD-123-123";
export const KEY = "key-of-the-kit";

/** Returns the code blocks of the tutorial in one language, joined. */
export function codeOf(language: string): string {
  return [...PAGE.matchAll(new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``, "g"))]
    .map(([, code = ""]) => code)
    .join("\n");
}

/** Returns the tutorial's text without its code. */
export function proseOf(): string {
  return PAGE.replaceAll(/```[^]*?```/g, "");
}

/** The tutorial's files by name. */
export function tutorialFiles(): Readonly<Record<string, string>> {
  const names = { "service.py": "python", "booths.json": "json", "mosquitto.conf": "ini", acl: "text" };
  return Object.fromEntries(Object.entries(names).map(([name, language]) => [name, codeOf(language)]));
}

/** Starts the tutorial's service with Debian's Python. Returns its URL. */
export async function startTutorial(files: Readonly<Record<string, string>>, atEnd: AtEnd): Promise<string> {
  const folder = temporaryFolder(undefined, atEnd);
  // The broker may run as another user.
  chmodSync(folder, 0o711);
  const port = await freePort();
  const mqtt = await freePort();
  for (const [name, text] of Object.entries(files))
    writeFileSync(join(folder, name), text.replace("listener 1883", `listener ${mqtt}`));
  const env = { PATH: "/usr/sbin:/usr/bin:/bin" };
  const argv = ["-B", "service.py", KEY, port.toString(), `mqtt://127.0.0.1:${mqtt}`];
  // The service and its broker are a process group.
  const service = spawn(PYTHON, argv, { cwd: folder, env, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  const gone = once(service, "exit");
  let said = "";
  service.stderr.on("data", (text: Buffer) => (said = `${said}${text.toString()}`.slice(-2_000)));
  atEnd(async () => {
    if (service.pid !== undefined && service.exitCode === null) process.kill(-service.pid, "SIGKILL");
    await gone;
  });
  const ready = once(createInterface(service.stdout), "line");
  await Promise.race([
    ready,
    gone.then(() => {
      throw new Error(`the service has ended: ${said}`);
    }),
  ]);
  return `http://127.0.0.1:${port}`;
}

interface Asked {
  readonly url: string;
  readonly key?: string;
  readonly user_key?: string;
  /** Ends at the first failure. */
  readonly is_first?: boolean;
}

/** Runs the kit at level full. */
export function runKit({ url, key = KEY, user_key = "", is_first = false }: Asked): Promise<readonly Outcome[]> {
  const stopping = new AbortController();
  return conform({
    ...{ url, key, user_key, serial: SERIAL, broker: "", level: "full", timeout_ms: is_first ? 3_000 : 15_000 },
    signal: stopping.signal,
    told: ({ result }) => {
      if (is_first && result === "fail") stopping.abort();
    },
  });
}

/** Returns the failed checks with their reasons. */
export function failuresOf(outcomes: readonly Outcome[]): string[] {
  return outcomes
    .filter(({ result }) => result === "fail")
    .map(({ id, reason, expected }) => `${id}: ${reason}; expected: ${expected}`);
}
