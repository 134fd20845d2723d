import { EXIT, type Run } from "../tools/command.ts";
import { commandsOf, HELP_OPTION, type Program } from "./parse.ts";
import type { CommandSpec } from "./spec.ts";

/** `booth-gateway completion SHELL`: prints the script that a shell loads. */
export function completionCommand(program: Omit<Program, "version">): Run {
  return ({ io, operands }) => {
    io.out(COMPLETIONS[operands[0] as keyof typeof COMPLETIONS](program));
    return Promise.resolve(EXIT.ok);
  };
}

type Completed = Omit<Program, "version">;

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

/** What stands behind a command, whatever the shell. */
function wantsFile({ operands = [] }: CommandSpec): boolean {
  return operands.some(({ name }) => name === "FILE" || name === "FOLDER" || name === "WHAT");
}

function choicesOf({ operands = [] }: CommandSpec): readonly (readonly [word: string, what: string])[] {
  return operands.flatMap(({ choices = {} }) => Object.entries(choices));
}

/** In single quotes, as zsh and fish read them. */
function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "'\\''")}'`;
}

/** For _describe, colons part a word from what it means. */
function described(word: string, what: string): string {
  return quoted(`${word.replaceAll(":", "\\:")}:${what.replaceAll(":", "\\:")}`);
}

/** Needs zsh 5. The same words as in bash, each with what it means. */
export function zshCompletion({ name, groups }: Completed): string {
  const commands = commandsOf({ groups });
  const called = `_${name}`;
  const cases = commands.map((command) => {
    const options = Object.entries({ ...command.options, ...HELP_OPTION }).map(([option, { value, text }]) => {
      const action =
        value === ""
          ? ""
          : `:${value
              .toLowerCase()
              .replaceAll(/[^a-z]/g, " ")
              .trim()}:${zshAction(value)}`;
      return quoted(`--${option}[${text.replaceAll("\\", "").replaceAll(/[[\]:]/g, " ")}]${action}`);
    });
    const words = choicesOf(command).map(([word, what]) => described(word, what));
    const operand = words.length === 0 ? [] : [quoted("1:word:->choices")];
    const file = wantsFile(command) ? [quoted("*:file:_files")] : [];
    const describe =
      words.length === 0
        ? ""
        : `\n      [[ $state == choices ]] && { choices=(${words.join(" ")}); _describe word choices }`;
    return `    ${command.name})\n      _arguments ${[...options, ...operand, ...file].join(" ")}${describe}\n      ;;`;
  });
  return `#compdef ${name}
# zsh completion for ${name}; made by "${name} completion zsh"
${called}() {
  local state line
  local -a commands choices
  commands=(${commands.map((command) => described(command.name, command.summary)).join(" ")})
  if ((CURRENT == 2)); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  ((CURRENT--))
  case $command in
    help) _describe command commands ;;
${cases.join("\n")}
  esac
}
# Loaded by name from a folder of fpath it is called at once; sourced, it only tells what it completes.
if [[ $funcstack[1] == ${called} ]]; then ${called} "$@"; else compdef ${called} ${name}; fi
`;
}

function zshAction(value: string): string {
  if (value === "FILE") return "_files";
  return value === "DIR" ? "_files -/" : " ";
}

/** Needs fish 3. */
export function fishCompletion({ name, groups }: Completed): string {
  const commands = commandsOf({ groups });
  const line = (rest: string): string => `complete -c ${name} ${rest}`;
  const first = `-n '__fish_use_subcommand'`;
  const lines = commands.flatMap((command) => {
    const within = `-n '__fish_seen_subcommand_from ${command.name}'`;
    const options = Object.entries({ ...command.options, ...HELP_OPTION }).map(([option, { value, text }]) => {
      const takes = value === "" ? "" : value === "FILE" || value === "DIR" ? " -rF" : " -x";
      return line(`${within} -l ${option}${takes} -d ${quoted(text)}`);
    });
    const words = choicesOf(command).map(([word, what]) => line(`${within} -a ${word} -d ${quoted(what)}`));
    return [
      line(`${first} -a ${command.name} -d ${quoted(command.summary)}`),
      ...words,
      ...options,
      ...(wantsFile(command) ? [line(`${within} -F`)] : []),
    ];
  });
  const names = commands.map((command) => command.name).join(" ");
  return `# fish completion for ${name}; made by "${name} completion fish"
complete -c ${name} -f
${lines.join("\n")}
complete -c ${name} -n '__fish_seen_subcommand_from help' -a ${quoted(names)}
`;
}

const COMPLETIONS = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;
