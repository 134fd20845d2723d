import type { ConfigError } from "../config/config-error.ts";
import { loadProfile } from "../config/profile.ts";
import { writeSchemas } from "../config/schemas.ts";
import { inspectConfig, type UsableConfig, verdictOn } from "../config/usable.ts";
import type { Text } from "../domain/message.ts";
import { render } from "../domain/messages/render.ts";
import { plcAddress } from "../domain/plc-address.ts";
import { isBitTable, type ModbusPoint, type ModbusTable, type ModbusTag, pointWidth } from "../domain/profile.ts";
import { configPath } from "../tools/agent-client.ts";
import { type Call, EXIT, type Run } from "../tools/command.ts";
import { linesText } from "../tools/texts.ts";
import { unitWarnings } from "../tools/unit-texts.ts";
import { print, tableText } from "../tools/print.ts";

const FUNCTIONS: Readonly<Record<ModbusTable, number>> = { coil: 1, discrete: 2, holding: 3, input: 4 };
const MODICON: Readonly<Record<ModbusTable, string>> = { coil: "0", discrete: "1", input: "3", holding: "4" };

/** Returns a table with each tag's address in every notation that manuals use. */
export function addressTable(tags: readonly ModbusTag[]): string {
  const head = ["tag", "table", "0-based", "hex", "from 1", "short", "read by", "takes"];
  return tableText(head, tags.map(rowOf));
}

function rowOf({ name, point }: ModbusTag): string[] {
  const { table, address } = point;
  const number = address + 1;
  const modicon = (digits: number): string => `${MODICON[table]}${String(number).padStart(digits, "0")}`;
  const hex = `0x${address.toString(16).padStart(4, "0")}`;
  const short = number < 10_000 ? modicon(4) : "-";
  return [name, table, String(address), hex, modicon(5), short, `function ${FUNCTIONS[table]}`, widthText(point)];
}

function widthText(point: ModbusPoint): string {
  if (isBitTable(point.table)) return "1 bit";
  const width = pointWidth(point);
  const registers = width === 1 ? "1 register" : `${width} registers`;
  return point.bit === undefined ? `${registers}, ${point.type}` : `bit ${point.bit} of a register`;
}

/** Checks a single profile, even if no booth uses it. */
function checkProfileFile(call: Call, file: string): Promise<number> {
  const { name, version, tags, modes, protocol } = loadProfile(file);
  const warnings = unitWarnings({ tags }).map((text: Text) => render(text));
  const shown = warnings.length === 0 ? {} : { warnings };
  const answer = { ok: true, file, profile: `${name} ${version}`, protocol, tags: tags.length, modes, ...shown };
  const codes = Object.keys(modes).length;
  const order = `${file} is in order: ${name} ${version}, ${tags.length} tags, ${codes} codes of modes`;
  print(call, answer, () => linesText([order, ...warnings.map(warningText)]));
  return Promise.resolve(EXIT.ok);
}

const warningText = (warning: string): string => `  warning: ${warning}`;

/** Returns the warnings about all booths' profiles with the profile's name. Each profile appears once. */
function warningsOf({ booths }: UsableConfig): readonly string[] {
  const profiles = new Map(booths.map(({ profile }) => [profile.name, profile]));
  return [...profiles.values()].flatMap((profile) =>
    unitWarnings(profile).map((text: Text) => `${profile.name}: ${render(text)}`),
  );
}

export const checkCommand: Run = (call) => {
  const { values, io, operands } = call;
  if (operands[0] !== undefined) return checkProfileFile(call, operands[0]);
  const path = configPath(values);
  const usable = inspectConfig(path);
  const verdict = verdictOn(usable);
  print(call, jsonOf(path, { usable, verdict }), () => {
    const addresses = values["addresses"] === true ? addressesText(usable) : "";
    const warnings = linesText(warningsOf(usable).map(warningText));
    return `${verdict === null ? textOf(path, usable) : ""}${warnings}${addresses}`;
  });
  if (verdict !== null) io.err(`${render(verdict.full())}\n`);
  return Promise.resolve(verdict === null ? EXIT.ok : EXIT.config);
};

function textOf(path: string, usable: UsableConfig): string {
  return linesText([
    `${path} is in order: service ${usable.config.service.url ?? "to be set up"}`,
    usable.config.booths.length === 0
      ? '  no booth: to be set up on the box\'s page, or with "booth-gateway setup"'
      : null,
    ...boothsOf(usable).map(
      (one) =>
        `  ${one.booth}: ${one.profile}, ${one.tags} tags, PLC at ${one.plc}, serial ${one.serial ?? "to be entered on site"}`,
    ),
  ]);
}

function addressesText({ booths }: UsableConfig): string {
  return booths
    .map(({ config: { id }, profile }) => {
      const head = `\n${id}: ${profile.name} ${profile.version}`;
      if (profile.protocol !== "modbus") return `${head}: variables of an OPC UA server have no such addresses\n`;
      return `${head}\n${addressTable(profile.tags)}`;
    })
    .join("");
}

function jsonOf(
  path: string,
  { usable, verdict }: { readonly usable: UsableConfig; readonly verdict: ConfigError | null },
): unknown {
  const { config, refused } = usable;
  const warnings = warningsOf(usable);
  const disabled = refused.map(({ id, serial, error }) => ({ booth: id, serial, problems: problemsIn(error) }));
  return {
    ok: verdict === null,
    file: path,
    service: config.service.url ?? null,
    booths: boothsOf(usable),
    ...(warnings.length === 0 ? {} : { warnings }),
    ...(disabled.length === 0 ? {} : { disabled }),
    ...(verdict === null ? {} : { problems: problemsIn(verdict) }),
  };
}

function problemsIn({ file, problems }: ConfigError): readonly object[] {
  return problems.map(({ file: own = file, line, column, path, message, hint }) => ({
    file: own,
    line,
    column,
    path,
    message: render(message),
    hint: hint === undefined ? undefined : render(hint),
  }));
}

function boothsOf({ booths }: UsableConfig) {
  return booths.map(({ config, profile }) => ({
    booth: config.id,
    serial: config.serial ?? null,
    profile: `${profile.name} ${profile.version}`,
    tags: profile.tags.length,
    plc: plcAddress(config),
  }));
}

export const schemasCommand: Run = (call) => {
  print(call, { files: writeSchemas(call.operands[0] ?? "") }, ({ files }) => linesText(files));
  return Promise.resolve(EXIT.ok);
};
