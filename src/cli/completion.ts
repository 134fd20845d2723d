import { EXIT, type CommandSpec, type Run } from "./command.ts";
import { commandsOf, HELP_OPTION, type Program } from "./program.ts";

/** `booth-gateway completion SHELL`: prints the script that a shell loads. */
export function completionCommand(program: Pick<Program, "name" | "groups">): Run {
  return ({ io }) => {
    io.out(bashCompletion(program));
    return Promise.resolve(EXIT.ok);
  };
}

/** Needs bash 4. Completes commands, options, words of choice, and files where an option or operand wants one. */
export function bashCompletion({ name, groups }: Pick<Program, "name" | "groups">): string {
  const commands = commandsOf({ groups });
  const names = commands.map((command) => command.name).join(" ");
  const taking = valuesByOption(commands);
  const optionsThat = (wants: (value: string) => boolean): string =>
    [...taking].flatMap(([option, value]) => (wants(value) ? [`--${option}`] : [])).join("|");
  return `# bash completion for ${name}; made by "${name} completion bash"
_${functionName(name)}() {
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
complete -F _${functionName(name)} ${name}
`;
}

function caseOf({ name, operands, options }: CommandSpec): string {
  const choices = operands.flatMap(({ choices: words = {} }) => Object.keys(words));
  const words = [...choices, ...Object.keys({ ...options, ...HELP_OPTION }).map((option) => `--${option}`)];
  const wantsFile = operands.some((operand) => operand.name === "FILE" || operand.name === "FOLDER");
  return `          ${name}) words="${words.join(" ")}"${wantsFile ? " files=-f" : ""} ;;`;
}

/** Options that take a value, with the word for it: one name means the same in every command. */
export function valuesByOption(commands: readonly CommandSpec[]): ReadonlyMap<string, string> {
  const all = commands.flatMap(({ options }) => Object.entries(options));
  return new Map(all.flatMap(([name, { value }]) => (value === "" ? [] : [[name, value] as const])));
}

function functionName(name: string): string {
  return name.replaceAll("-", "_");
}
