import { DEFAULT_CONFIG } from "../domain/plc-address.ts";
import { EXIT, EXIT_MEANINGS, type Run } from "../tools/command.ts";
import { type Program, usageOf } from "./parse.ts";
import type { CommandSpec } from "./spec.ts";

/** Runs `booth-gateway manual`: prints the manual page. */
export function manualCommand(program: Omit<Program, "version">): Run {
  return ({ io }) => {
    io.out(manualPage(program));
    return Promise.resolve(EXIT.ok);
  };
}

const FILES = [
  [DEFAULT_CONFIG, "the configuration; the command check lists its mistakes"],
  ["/var/lib/booth-gateway", "readings, derived facts, identity (data_dir)"],
  [
    "/run/booth-gateway/admin/admin.sock",
    "the agent's socket for root only: decommission, and another key for a bound booth",
  ],
  ["/run/booth-gateway/agent.sock", "the agent's socket, for members of the group booth-gateway (runtime_dir)"],
] as const;

const ENVIRONMENT = [
  ["RUNTIME_DIRECTORY", "folder of the socket, replaces the one in the configuration; set by systemd"],
  ["CREDENTIALS_DIRECTORY", "folder of the service's first key, if the key is a systemd credential; set by systemd"],
  ["NO_COLOR", "if not empty, the output has no colors; without a terminal it never has colors"],
  ["BOOTH_GATEWAY_TRACE", "if set, the message of an unexpected failure includes its place in the code"],
] as const;

/** Returns the manual page in roff (man macros), section 8. */
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
    ...tagged(Object.entries(options).map(([usage, what]) => [`--${usage}`, what])),
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

/** Escapes a text for roff: dashes stay dashes, and no line is read as a roff request. */
function text(plain: string): string {
  const escaped = plain.replaceAll("\\", "\\e").replaceAll("-", "\\-");
  return /^[.']/.test(escaped) ? `\\&${escaped}` : escaped;
}
