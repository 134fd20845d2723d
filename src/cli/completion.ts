import { EXIT, type Run } from "../tools/command.ts";
import { commandsOf, type Program } from "./parse.ts";
import { type CommandSpec, optionsOf } from "./spec.ts";

type Completed = Omit<Program, "version">;

/** Runs `booth-gateway completion SHELL`: prints the completion script for a shell. */
export function completionCommand(program: Completed): Run {
  return ({ io, operands }) => {
    io.out(COMPLETIONS[operands[0] as keyof typeof COMPLETIONS](program));
    return Promise.resolve(EXIT.ok);
  };
}

/**
 * Returns the completion script for bash 4. It completes commands, options, choices, and files for options and operands that accept a file.
 */
export function bashCompletion({ name, groups }: Completed): string {
  const commands = commandsOf({ groups });
  const names = commands.map((command) => command.name).join(" ");
  // Maps each option to its kind of value, which is the same in every command.
  const values = new Map(commands.flatMap(optionsOf).map((option) => [option.name, option.value]));
  const optionsThat = (wants: (value: string) => boolean): string =>
    [...values].flatMap(([option, value]) => (value !== "" && wants(value) ? [`--${option}`] : [])).join("|");
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

function caseOf(command: CommandSpec): string {
  const words = [...choicesOf(command).map(([word]) => word), ...optionsOf(command).map(({ name }) => `--${name}`)];
  const isFile = (command.operands ?? []).some(({ name }) => name === "FILE" || name === "FOLDER");
  return `          ${command.name}) words="${words.join(" ")}"${isFile ? " files=-f" : ""} ;;`;
}

/** Returns whether an operand of a command may be a file. */
function wantsFile({ operands = [] }: CommandSpec): boolean {
  return operands.some(({ name }) => name === "FILE" || name === "FOLDER" || name === "WHAT");
}

function choicesOf({ operands = [] }: CommandSpec): readonly (readonly [word: string, what: string])[] {
  return operands.flatMap(({ choices = {} }) => Object.entries(choices));
}

/** Quotes a text for zsh and fish. */
function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "'\\''")}'`;
}

/** Writes a word and its meaning for zsh's `_describe`, which separates them by a colon. */
function described(word: string, what: string): string {
  return quoted(`${word.replaceAll(":", "\\:")}:${what.replaceAll(":", "\\:")}`);
}

/** Returns the completion script for zsh 5: the same words as for bash, each with its meaning. */
export function zshCompletion({ name, groups }: Completed): string {
  const commands = commandsOf({ groups });
  const called = `_${name}`;
  const cases = commands.map((command) => {
    const options = optionsOf(command).map(({ name: option, value, text }) => {
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

/** Returns the completion script for fish 3. */
export function fishCompletion({ name, groups }: Completed): string {
  const commands = commandsOf({ groups });
  const line = (rest: string): string => `complete -c ${name} ${rest}`;
  const first = `-n '__fish_use_subcommand'`;
  const lines = commands.flatMap((command) => {
    const within = `-n '__fish_seen_subcommand_from ${command.name}'`;
    const options = optionsOf(command).map(({ name: option, value, text }) => {
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
