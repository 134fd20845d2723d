import { configFrom } from "./config.ts";
import { parseWith } from "./explain.ts";
import { gatewaySchema } from "./gateway-schema.ts";
import { NO_CONFIG_HINT, openYaml, pathText, readSource, type DataPath, type YamlSource } from "./yaml-source.ts";

/** A setting in force. */
export interface Setting {
  /** e.g. booths[0].modbus.port */
  readonly path: string;
  readonly value: unknown;
  /** Line of the file that says so; null: the default. */
  readonly line: number | null;
}

/** Whatever a name like that held would be a secret; names of files aren't. */
const SECRET = /password|secret|credential$|(^|_)key$|(^|_)pin$/;
/** A credential's name is none itself. */
const NO_SECRET = new Set(["api_key_credential"]);

/** Every setting in force with its origin, defaults filled in, paths absolute. Throws ConfigError. */
export function settingsIn(file: string): readonly Setting[] {
  const source = openYaml(readSource(file, NO_CONFIG_HINT), file);
  const config = configFrom(parseWith(gatewaySchema, source), file);
  return leavesOf(config, []).map(([path, value]) => ({
    path: pathText(path),
    value: isSecret(path) ? "(hidden)" : value,
    line: lineOf(source, path),
  }));
}

function isSecret(path: DataPath): boolean {
  const name = path.findLast((step) => typeof step === "string") ?? "";
  return SECRET.test(name) && !NO_SECRET.has(name);
}

function leavesOf(value: unknown, path: DataPath): readonly (readonly [DataPath, unknown])[] {
  if (typeof value !== "object" || value === null) return [[path, value]];
  const entries = Array.isArray(value) ? [...(value as unknown[]).entries()] : Object.entries(value);
  return entries.flatMap(([step, part]) => leavesOf(part, [...path, step]));
}

function lineOf(source: YamlSource, path: DataPath): number | null {
  let at: unknown = source.data;
  for (const step of path) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, step)) return null;
    at = Reflect.get(at, step);
  }
  return source.problemAt(path, "").line;
}
