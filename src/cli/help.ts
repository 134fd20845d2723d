import { EXIT_MEANINGS, type CommandSpec } from "./command.ts";
import { HELP_OPTION, optionText, usageOf, type Program } from "./program.ts";

const WIDTH = 118;

/** What the program can do, command by command. */
export function overview(program: Program): string {
  const names = program.groups.flatMap(({ commands }) => commands.map(({ name }) => name));
  const width = Math.max(...names.map((name) => name.length)) + 2;
  const groups = program.groups.flatMap(({ title, commands }) => [
    "",
    `${title}:`,
    ...commands.map(({ name, summary }) => `  ${name.padEnd(width)}${summary}`),
  ]);
  return [
    `${program.name} ${program.version}: ${program.summary}`,
    "",
    `Usage: ${program.name} COMMAND [options]`,
    ...groups,
    "",
    `${program.name} help COMMAND tells a command's options.`,
    `Exit codes: ${exitText(EXIT_MEANINGS)}.`,
    "",
  ].join("\n");
}

/** All about one command. */
export function helpOf(program: Program, command: CommandSpec): string {
  const operands = command.operands.flatMap(({ name, text, choices = {} }) => [
    [name, text] as const,
    ...Object.entries(choices).map(([choice, what]) => [`  ${choice}`, what] as const),
  ]);
  const options = Object.entries({ ...command.options, ...HELP_OPTION }).map(
    ([name, { value, text }]) => [optionText(name, value), text] as const,
  );
  const rows = [...operands, ...options];
  const width = Math.max(...rows.map(([name]) => name.length)) + 2;
  const tableOf = (part: typeof rows): string[] => part.map(([name, text]) => `  ${name.padEnd(width)}${text}`);
  return [
    `${program.name} ${command.name}: ${command.summary}`,
    "",
    `Usage: ${program.name} ${usageOf(command)}`,
    "",
    ...(operands.length === 0 ? [] : [...tableOf(operands), ""]),
    ...tableOf(options),
    ...(command.notes.length === 0 ? [] : ["", ...command.notes.flatMap(wrapped)]),
    "",
    ...command.examples.map((example, i) => `${i === 0 ? "Example: " : "         "}${program.name} ${example}`),
    ...(command.exits === undefined ? [] : [`Exit codes: ${exitText({ ...EXIT_MEANINGS, ...command.exits })}.`]),
    "",
  ].join("\n");
}

function exitText(meanings: Readonly<Record<number, string>>): string {
  return Object.entries(meanings)
    .map(([code, meaning]) => `${code} ${meaning}`)
    .join("; ");
}

function wrapped(text: string): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > WIDTH) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
