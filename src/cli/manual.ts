import { DEFAULT_CONFIG } from "../domain/plc-address.ts";
import { EXIT, EXIT_MEANINGS, type Run } from "../tools/command.ts";
import { commandsOf, HELP_OPTION, optionText, type Program, usageOf } from "./parse.ts";
import type { CommandSpec } from "./spec.ts";

/** `booth-gateway manual`: prints the manual page. */
export function manualCommand(program: Omit<Program, "version">): Run {
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
export function manualPage({ name, summary, groups }: Omit<Program, "version">): string {
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
    ...tagged(Object.entries(EXIT_MEANINGS)),
    ".SH FILES",
    ...tagged(FILES),
    ".SH ENVIRONMENT",
    ...tagged(ENVIRONMENT),
    "",
  ].join("\n");
}

function commandPart(program: string, command: CommandSpec): string[] {
  const { summary, operands = [], options, notes = [], examples, exits = {} } = command;
  return [
    `.SS ${text(usageOf(command))}`,
    text(`${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`),
    ...notes.map(text),
    ...operands.flatMap(({ name, text: what, choices = {} }) => tagged([[name, what], ...Object.entries(choices)])),
    ...tagged(Object.entries(options).map(([name, option]) => [optionText(name, option.value), option.text])),
    ...(Object.keys(exits).length === 0 ? [] : [".PP", "Exit status here:"]),
    ...tagged(Object.entries(exits)),
    ".PP",
    ".EX",
    ...examples.map((example) => text(`    ${program} ${example}`)),
    ".EE",
  ];
}

function tagged(terms: readonly (readonly [term: string, what: string])[]): string[] {
  return terms.flatMap(([term, what]) => [".TP", `.B ${text(term)}`, text(what)]);
}

/** A dash is a dash to be typed, and no line begins with a request. */
function text(plain: string): string {
  const escaped = plain.replaceAll("\\", "\\e").replaceAll("-", "\\-");
  return /^[.']/.test(escaped) ? `\\&${escaped}` : escaped;
}

/** `booth-gateway completion SHELL`: prints the script that a shell loads. */
export function completionCommand(program: Omit<Program, "version">): Run {
  return ({ io }) => {
    io.out(bashCompletion(program));
    return Promise.resolve(EXIT.ok);
  };
}

/** Needs bash 4. Completes commands, options, words of choice, and files where an option or operand wants one. */
export function bashCompletion({ name, groups }: Omit<Program, "version">): string {
  const commands = commandsOf({ groups });
  const names = commands.map((command) => command.name).join(" ");
  // One name means the same in every command.
  const taking = new Map(
    commands.flatMap(({ options }) => Object.entries(options).map(([option, { value }]) => [option, value] as const)),
  );
  const optionsThat = (wants: (value: string) => boolean): string =>
    [...taking].flatMap(([option, value]) => (value !== "" && wants(value) ? [`--${option}`] : [])).join("|");
  const called = `_${name.replaceAll("-", "_")}`;
  return `# bash completion for ${name}; made by "${name} completion bash"
${called}() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD - 1]} words="" files=""
  case $prev in
    ${optionsThat((value) => value === "FILE")}) files=-f ;;
    ${optionsThat((value) => value === "DIR")}) files=-d ;;
    ${optionsThat((value) => value !== "FILE" && value !== "DIR")}) return ;;
    *)
      if ((COMP_CWORD == 1)); then
        words="${names} help --help --version"
      else
        case \${COMP_WORDS[1]} in
          help) words="${names}" ;;
${commands.map(caseOf).join("\n")}
        esac
      fi
      ;;
  esac
  if [[ $files && $cur != -* ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen "$files" -- "$cur")
  fi
  [[ -z $words ]] || mapfile -t -O "\${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -F ${called} ${name}
`;
}

function caseOf({ name, operands = [], options }: CommandSpec): string {
  const choices = operands.flatMap(({ choices: words = {} }) => Object.keys(words));
  const words = [...choices, ...Object.keys({ ...options, ...HELP_OPTION }).map((option) => `--${option}`)];
  const wantsFile = operands.some((operand) => operand.name === "FILE" || operand.name === "FOLDER");
  return `          ${name}) words="${words.join(" ")}"${wantsFile ? " files=-f" : ""} ;;`;
}
