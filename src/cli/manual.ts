import { EXIT, EXIT_MEANINGS, type CommandSpec, type Run } from "./command.ts";
import { optionText, usageOf, type Program } from "./program.ts";
import { DEFAULT_CONFIG } from "./table/shared.ts";

type Subject = Pick<Program, "name" | "summary" | "groups">;

/** `booth-gateway manual`: prints the manual page. */
export function manualCommand(program: Subject): Run {
  return ({ io }) => {
    io.out(manualPage(program));
    return Promise.resolve(EXIT.ok);
  };
}

const FILES = [
  [DEFAULT_CONFIG, "the configuration; check tells what is wrong with it"],
  ["/var/lib/booth-gateway", "readings, derived facts, identity (data_dir)"],
  [
    "/run/booth-gateway/admin/admin.sock",
    "the same for what is root's alone: decommission, and another key for a bound booth",
  ],
  ["/run/booth-gateway/agent.sock", "the agent's socket, for members of the group booth-gateway (runtime_dir)"],
] as const;

const ENVIRONMENT = [
  ["RUNTIME_DIRECTORY", "folder of the socket, instead of the configuration's; systemd sets it"],
  ["CREDENTIALS_DIRECTORY", "where the service's first key is, if it is a systemd credential; systemd sets it"],
  ["NO_COLOR", "if it isn't empty, no colours are shown; without a terminal there are none anyway"],
  ["BOOTH_GATEWAY_TRACE", "if it is set, a failure that nobody foresaw is told with its place in the code"],
] as const;

/** The manual page in roff (man macros), section 8. */
export function manualPage({ name, summary, groups }: Subject): string {
  return [
    `.TH ${name.toUpperCase().replaceAll("-", "\\-")} 8`,
    ".SH NAME",
    `${text(name)} \\- ${text(summary)}`,
    ".SH SYNOPSIS",
    `.B ${text(name)}`,
    ".I COMMAND",
    "[options]",
    ...groups.flatMap(({ title, commands }) => [
      `.SH ${text(title.toUpperCase())}`,
      ...commands.flatMap((command) => commandPart(name, command)),
    ]),
    ".SH EXIT STATUS",
    ...Object.entries(EXIT_MEANINGS).flatMap(([code, meaning]) => tagged(code, meaning)),
    ".SH FILES",
    ...FILES.flatMap(([file, what]) => tagged(file, what)),
    ".SH ENVIRONMENT",
    ...ENVIRONMENT.flatMap(([variable, what]) => tagged(variable, what)),
    "",
  ].join("\n");
}

function commandPart(program: string, command: CommandSpec): string[] {
  const { summary, operands, options, notes, examples, exits = {} } = command;
  return [
    `.SS ${text(usageOf(command))}`,
    text(`${capital(summary)}.`),
    ...notes.map(text),
    ...operands.flatMap(({ name, text: what, choices = {} }) => [
      ...tagged(name, what),
      ...Object.entries(choices).flatMap(([choice, meaning]) => tagged(choice, meaning)),
    ]),
    ...Object.entries(options).flatMap(([name, option]) => tagged(optionText(name, option.value), option.text)),
    ...(Object.keys(exits).length === 0 ? [] : [".PP", "Exit status here:"]),
    ...Object.entries(exits).flatMap(([code, meaning]) => tagged(code, meaning)),
    ".PP",
    ".EX",
    ...examples.map((example) => text(`    ${program} ${example}`)),
    ".EE",
  ];
}

function tagged(term: string, what: string): string[] {
  return [".TP", `.B ${text(term)}`, text(what)];
}

/** A dash is a dash to be typed, and no line begins with a request. */
function text(plain: string): string {
  const escaped = plain.replaceAll("\\", "\\e").replaceAll("-", "\\-");
  return /^[.']/.test(escaped) ? `\\&${escaped}` : escaped;
}

function capital(sentence: string): string {
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}
