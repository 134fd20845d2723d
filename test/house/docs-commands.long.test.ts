import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { commandsOf } from "../../src/cli/parse.ts";
import { optionsOf } from "../../src/cli/spec.ts";
import { OPERATOR_COMMANDS } from "../../simulators/service/operator-commands.ts";
import { PROGRAM } from "../../src/runtime/commands.ts";

/** Checks every call of our programs in the documents: the command exists, and it has the options that are named. */

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const SCRIPTS = (
  JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { readonly scripts: Readonly<Record<string, string>> }
).scripts;
interface Call {
  readonly document: string;
  readonly program: "booth-gateway" | "booth-sim" | "npm";
  readonly words: readonly string[];
  readonly options: readonly string[];
}

const documents = [
  "README.md",
  "CONTRIBUTING.md",
  ...readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" }).map((name) => `docs/${name}`),
]
  .filter((name) => name.endsWith(".md"))
  .map((name) => ({ name, text: readFileSync(join(ROOT, name), "utf8") }));

/** Returns the calls in code spans and code blocks. A call ends at a pipe, a comment, a quote or the end of its line. */
function callsIn({ name, text }: (typeof documents)[number]): readonly Call[] {
  const joined = text.replaceAll(/\\\n\s*/g, " ");
  const calls = joined.matchAll(/(?<![\w/.-])(booth-gateway|booth-sim|npm) ((?:[^`|;&#"\n(]|\[[^\]]*\])+)/g);
  return [...calls].flatMap(([, program = "", rest = ""]) => {
    const all = rest.split(/[\s,]+/).filter((word) => word !== "");
    const words = all.filter((word) => !word.startsWith("-"));
    const options = all.flatMap((word) => /^\[?--([a-z][a-z-]*)/.exec(word)?.[1] ?? []);
    return [{ document: name, program: program as Call["program"], words, options }];
  });
}

const calls = documents.flatMap(callsIn);

it("each booth-gateway command in the documentation exists and has the options used with it", () => {
  const commands = new Map(
    commandsOf(PROGRAM).map((command) => [command.name, optionsOf(command).map(({ name }) => name)]),
  );
  const found = calls.filter(({ program, words }) => program === "booth-gateway" && commands.has(words[0] ?? ""));
  expect(found.length).toBeGreaterThan(80);
  const wrong = found.flatMap(({ document, words: [command = ""], options }) =>
    options
      .filter((option) => commands.get(command)?.includes(option) !== true)
      .map((option) => `${document}: ${command} --${option}`),
  );
  // A sentence may go on after the program's name; a call in code has an option or is in a span of its own.
  const unknown = calls
    .filter(
      ({ program, words, options }) =>
        program === "booth-gateway" && options.length > 0 && words.length > 0 && !commands.has(words[0] ?? ""),
    )
    .map(({ document, words }) => `${document}: booth-gateway ${words[0] ?? ""}`);
  expect([...wrong, ...unknown]).toEqual([]);
});

/** The program behind a call of the simulators or of an npm script, with the arguments that print its help; null: no program of ours. */
function helpCall({ program, words: [first = "", second = ""] }: Call): string | null {
  if (program === "booth-sim") {
    const command = Object.hasOwn(OPERATOR_COMMANDS, second) || second === "brokers" ? ` ${second}` : "";
    return first === "" ? null : `node simulators/main.ts ${first}${command}`;
  }
  const script = first === "run" ? second : first;
  const command = SCRIPTS[script] ?? "";
  return /^node (simulators|test|systemd)\//.test(command) ? command : null;
}

it("each npm script and booth-sim command in the documentation exists, and its help lists the options used with it", () => {
  const others = calls.filter(({ program }) => program !== "booth-gateway");
  const scripts = others
    .filter(
      ({ program, words: [first = "", second = ""] }) => program === "npm" && first === "run" && !(second in SCRIPTS),
    )
    .map(({ document, words }) => `${document}: npm run ${words[1] ?? ""}`);
  const wanted = new Map<string, Set<string>>();
  for (const call of others) {
    const command = call.options.length === 0 ? null : helpCall(call);
    if (command === null) continue;
    for (const option of call.options) {
      const places = wanted.get(`${command} --${option}`) ?? new Set();
      wanted.set(`${command} --${option}`, places.add(call.document));
    }
  }
  const helps = new Map<string, string>();
  const lacking = [...wanted].flatMap(([call, places]) => {
    const [command = "", option = ""] = call.split(" --");
    const help =
      helps.get(command) ??
      execFileSync(process.execPath, [...command.split(" ").slice(1), "--help"], { cwd: ROOT, encoding: "utf8" });
    helps.set(command, help);
    return new RegExp(`--${option}\\b`).test(help) ? [] : [`${[...places].join(", ")}: ${call}`];
  });
  expect(helps.size).toBeGreaterThan(3);
  expect([...scripts, ...lacking]).toEqual([]);
});
