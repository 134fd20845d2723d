import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, describe, it } from "vitest";
import { bashCompletion, fishCompletion, zshCompletion } from "../../src/cli/completion.ts";
import { manualPage } from "../../src/cli/manual.ts";
import { type CommandSpec, optionsOf } from "../../src/cli/spec.ts";
import { commandsOf, parseCommand } from "../../src/cli/parse.ts";
import { PROGRAM } from "../../src/runtime/commands.ts";
import { EXPLAINABLE } from "../../src/reports/explain.ts";
import { GATEWAY, runProgram } from "../support/processes.ts";
import { say } from "./say.ts";
import { temporaryFolder } from "../support/temporary.ts";

const COMMANDS: readonly CommandSpec[] = commandsOf(PROGRAM);
/** Commands that print a text for other programs, or a log. */
const WITHOUT_JSON = ["run", "completion", "manual"];

describe("the command line of booth-gateway", () => {
  it("prints its help with exit code 2 if the command is missing, and suggests the closest name for an unknown command", async () => {
    const bare = await runProgram(GATEWAY, []);
    expect(bare).toMatchObject({ code: 2, err: "" });
    expect(bare.out).toContain("Usage: booth-gateway COMMAND [options]");
    for (const { name } of COMMANDS) expect(bare.out).toMatch(new RegExp(`^  ${name} +\\S`, "m"));
    for (const { summary } of COMMANDS) expect(bare.out).toContain(summary);
    expect(await runProgram(GATEWAY, ["statsu"])).toEqual({
      code: 2,
      out: "",
      err: 'booth-gateway: there is no command "statsu" (did you mean status?); booth-gateway --help lists them\n',
    });
    expect((await say(["fly-away"])).err).toBe(
      'booth-gateway: there is no command "fly-away"; booth-gateway --help lists them\n',
    );
  });

  it.each(COMMANDS)(
    "prints every option and operand of $name for both $name --help and help $name",
    async ({ name, summary, options, operands = [] }) => {
      const { code, out, err } = await say([name, "--help"]);
      expect({ code, err }).toEqual({ code: 0, err: "" });
      expect(out).toMatch(new RegExp(`^booth-gateway ${name}: [^\\n]+\\n\\nUsage: booth-gateway ${name} `));
      expect(out).toContain(summary);
      for (const usage of Object.keys(options)) expect(out).toContain(`\n  --${usage} `);
      for (const operand of operands) expect(out).toContain(operand.name);
      expect(out).toContain("Example: booth-gateway ");
      expect((await say(["help", name])).out).toBe(out);
    },
  );

  it.each(COMMANDS)("accepts the examples in the help of $name", (command) => {
    expect(command.examples.length).toBeGreaterThan(0);
    for (const example of command.examples) {
      const [name, ...words] = example.replace(/ > .*$/, "").split(" ");
      expect(name).toBe(command.name);
      expect(() => parseCommand(command, words)).not.toThrow();
    }
  });

  it("has --json for every command except run, completion and manual", () => {
    const without = COMMANDS.filter(({ options }) => !("json" in options)).map(({ name }) => name);
    expect(without).toEqual(WITHOUT_JSON);
  });

  it("uses each option name for the same kind of value in every command", () => {
    // --from is the start of a report, and the family of a new profile.
    const seen = new Map<string, string>();
    for (const command of COMMANDS) {
      for (const { name, value } of optionsOf(command)) {
        if (name === "from" && value === "FAMILY") continue;
        expect({ name, value: seen.get(name) ?? value }).toEqual({ name, value });
        seen.set(name, value);
      }
    }
  });

  it("lists the figures that the explain command accepts", () => {
    const figures = COMMANDS.find(({ name }) => name === "explain")?.operands?.[0]?.choices;
    expect(Object.keys(figures ?? {})).toEqual(EXPLAINABLE);
  });
});

describe("a wrong command line", () => {
  it.each([
    [["status", "--jsn"], "there is no option --jsn (did you mean --json?)"],
    [["status", "-x"], "there is no option -x"],
    [["status", "--config"], "--config needs a value: --config FILE"],
    [["status", "--config", "--json"], "--config needs a value, not --json; one that begins with a dash is written"],
    [["status", "--json=yes"], "--json takes no value"],
    [["check", "this", "that"], '"that" is one word too many'],
    [["store"], "ACTION is missing: one of check, salvage, export, import, backup"],
    [["store", "chek"], 'ACTION can\'t be "chek" (did you mean check?)'],
    [["completion", "fihs"], 'SHELL can\'t be "fihs" (did you mean fish?)'],
    [["history"], "TAGS is missing: names of tags, separated by commas"],
  ])("exits with 2 for %j and prints: %s", async (argv, sentence) => {
    const { code, out, err } = await say(argv);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain(`booth-gateway ${argv[0] ?? ""}: ${sentence}`);
    expect(err).toMatch(/^[^\n]+; booth-gateway \S+ --help says more\n$/);
  });
});

describe("the table of commands", () => {
  it("generates the manual page in docs (run npm run manual if this fails)", () => {
    expect(readFileSync(new URL("../../docs/booth-gateway.8", import.meta.url), "utf8")).toBe(manualPage(PROGRAM));
  });

  it("generates the output of the commands manual and completion", async () => {
    expect(await say(["manual"])).toEqual({ code: 0, out: manualPage(PROGRAM), err: "" });
    for (const [shell, made] of Object.entries({ bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion }))
      expect(await say(["completion", shell])).toEqual({ code: 0, out: made(PROGRAM), err: "" });
  });

  it.each([
    ["booth-gateway sta", ["status"]],
    ["booth-gateway status --wa", ["--watch"]],
    ["booth-gateway store ba", ["backup"]],
    ["booth-gateway help reb", ["rebuild"]],
    ["booth-gateway check --config gate", ["gateway.yaml"]],
    ["booth-gateway detect --port 5", []],
  ])("generates a completion script with which bash completes %j to %j", (line, expected) => {
    const folder = temporaryFolder();
    writeFileSync(join(folder, "gateway.yaml"), "");
    const words = line.split(" ");
    const script = `${bashCompletion(PROGRAM)}
      COMP_WORDS=(${words.join(" ")}); COMP_CWORD=${words.length - 1}
      _booth_gateway; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const said = execFileSync("bash", ["--norc", "-c", script], { cwd: folder, encoding: "utf8" });
    expect(said.split("\n").filter((word) => word !== "")).toEqual(expected);
  });
});
