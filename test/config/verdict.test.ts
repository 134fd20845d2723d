import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { ConfigError } from "../../src/config/config-error.ts";
import { fileProblems } from "../../src/config/file-checks.ts";
import { type LoadedConfig, loadUsableOrLastGood, soundIn } from "../../src/config/usable.ts";
import type { Agent } from "../../src/runtime/agent.ts";
import { systemClock } from "../../src/runtime/clock.ts";
import { agentRuns } from "../../src/runtime/runs.ts";
import { createSetUp } from "../../src/runtime/set-up.ts";
import { examineConfig } from "../../src/tools/doctor/box.ts";
import { say } from "../cli/say.ts";
import { silentLog } from "../support/silent-log.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { badConfigurations, type BadConfiguration } from "./bad-configurations.ts";

const folder = temporaryFolder(tmpdir(), (undo) =>
  afterAll(async () => {
    await undo();
  }),
);
const BAD = badConfigurations(folder);

function written({ config }: Pick<BadConfiguration, "config">): string {
  const file = join(temporaryFolder(), "gateway.yaml");
  writeFileSync(file, stringify({ data_dir: "data", booths: [], ...config }));
  return file;
}

/** Returns what `check` reports: the exit code and the paths of all problems. */
async function checked(file: string): Promise<{ readonly code: number; readonly paths: readonly string[] }> {
  const { code, err } = await say(["check", "--config", file]);
  return { code, paths: [...err.matchAll(/^\S+:\d+:\d+: (\S+): /gm)].map((match) => match[1] ?? "") };
}

/** Returns the paths that a start reports: it either ends, or disables entries, or runs without a file. */
function started(file: string): readonly string[] {
  try {
    const { usable } = loadUsableOrLastGood(file, {});
    const { refused, refused_outputs, refused_notices, marked } = usable;
    const entries = [...refused, ...refused_outputs, ...refused_notices].flatMap(({ error }) => error.problems);
    return [...entries, ...fileProblems(marked)].map(({ path }) => path);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map(({ path }) => path);
    throw error;
  }
}

/** Returns the error of a reload of the file; "": it is accepted. */
async function reloaded(file: string): Promise<string> {
  const usable = soundIn("booths: []\n", file);
  const first: LoadedConfig = { usable, refused: null, text: "booths: []\n" };
  const http = { send: () => Promise.reject(new Error("no service")), close: () => undefined };
  const idle = { agent: {} as Agent, http, become: () => Promise.resolve(), stop: () => undefined };
  const { signal } = new AbortController();
  const begin = () => Promise.resolve(idle);
  const { reload } = await agentRuns({ file, environment: {}, log: silentLog, first, signal, begin });
  return reload().then(() => "", String);
}

describe("a fault in the configuration", () => {
  it.each(BAD)("is reported with the same path by check and at startup: $title", async (bad) => {
    const file = written(bad);
    expect(await checked(file)).toEqual({ code: 78, paths: [bad.path] });
    expect(started(file)).toEqual([bad.path]);
  });

  // One fault of each setting: the test above covers the others.
  const settings = BAD.filter(({ path }, index) => BAD.findIndex((one) => one.path === path) === index);
  it.each(settings)("is reported with the same path by config set, reload and doctor: $title", async (bad) => {
    const file = written(bad);
    const set = await say(["config", "set", "log_level", "debug", "--config", file]);
    expect(set.code).toBe(78);
    expect(set.err).toContain(`: ${bad.path}: `);
    expect(await reloaded(file)).toContain(`: ${bad.path}: `);
    const { findings } = examineConfig(file);
    expect(JSON.stringify(findings)).toContain(bad.path);
  });

  const booths = BAD.filter(({ path }) => path.startsWith("booths[0]."));
  it.each(booths)("is rejected by the set-up on the web page: $title", async ({ config }) => {
    const file = written({ config: {} });
    const [entry] = config["booths"] as readonly [{ readonly id: string }];
    const set_up = createSetUp({
      file,
      data_dir: join(file, "..", "data"),
      clock: systemClock(),
      log: silentLog,
      status: () => {
        throw new Error("the entry was tried");
      },
      has_key: () => Promise.resolve(false),
      logins: { give: () => Promise.resolve() },
      change: () => Promise.reject(new Error("the entry was accepted")),
    });
    await expect(set_up.tryEntry(entry)).rejects.toMatchObject({ status: 400 });
  });
});
