import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { render } from "../../../src/domain/messages/render.ts";
import type { Io } from "../../../src/tools/command.ts";
import { temporaryFolder } from "../../support/temporary.ts";
import { say } from "../../cli/say.ts";

export type Tag = Readonly<Record<string, unknown>>;

/** Makes a new profile, and imports files into it with the command line. */
export async function importBench(from = "modbus") {
  const folder = temporaryFolder();
  const config = join(folder, "gateway.yaml");
  const profile = join(folder, "profiles", "acme.yaml");
  await say(["profile", "new", "acme", "--from", from, "--config", config]);
  const asked: string[] = [];
  const run = async (
    [name, content]: readonly [name: string, content: string | Uint8Array],
    options: readonly string[] = ["--yes"],
    reply?: string,
  ) => {
    const file = join(folder, name);
    writeFileSync(file, content);
    const ask: Io["ask"] = (question, kind) => {
      asked.push(render(question));
      return Promise.resolve(kind === "agree" ? "y" : (reply ?? null));
    };
    return say(["profile", "import", file, "--config", config, ...options], reply === undefined ? {} : { io: { ask } });
  };
  const tags = (): readonly Tag[] => (parse(readFileSync(profile, "utf8")) as { readonly tags: readonly Tag[] }).tags;
  return { run, tags, asked, profile };
}

/** Imports a file, and returns the chosen keys of each tag; the error if the import fails. */
export async function imported(
  [name, content]: readonly [name: string, content: string | Uint8Array],
  keys: readonly string[],
  { from = "modbus", options = [] }: { readonly from?: string; readonly options?: readonly string[] } = {},
): Promise<readonly (readonly unknown[])[] | string> {
  const { run, tags } = await importBench(from);
  const { code, err } = await run([name, content], [...options, "--yes"]);
  return code === 0 ? tags().map((tag) => keys.map((key) => tag[key])) : err;
}
