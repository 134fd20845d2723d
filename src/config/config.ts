import { dirname, resolve } from "node:path";
import { parseWith, refuseIfAny } from "./explain.ts";
import { checkGateway, modbusOf } from "./gateway-checks.ts";
import { type BoothInput, type GatewayInput, gatewaySchema } from "./gateway-schema.ts";
import type { NoticeInput } from "./notices-schema.ts";
import type { BoothConfig, Config, NoticeConfig } from "./port.ts";
import { SHIPPED_PROFILES } from "./profile.ts";
import { madeProfiles, openLayers } from "./set-up.ts";
import {
  type DataPath,
  NO_CONFIG_HINT,
  openYaml,
  pathText,
  readSource,
  valueAt,
  type YamlSource,
} from "./yaml-source.ts";

/**
 * Parses the gateway's configuration: fills in defaults, makes paths absolute (from the file's folder) and normalizes serial numbers. Does
 * not read `file` or any profile. Throws ConfigError for any fault; `usable.ts` disables only the faulty entry.
 */
export function parseConfig(text: string, file: string): Config {
  return soundIn(openYaml(text, file), file);
}

function soundIn(source: YamlSource, file: string): Config {
  const input = parseWith(gatewaySchema, source);
  refuseIfAny(checkGateway(input, source), source);
  return configFrom(input, file);
}

/** Reads and checks the configuration file, merged with the set-up's file. Throws ConfigError. */
export function loadConfig(path: string): Config {
  return soundIn(openLayers(readSource(path, NO_CONFIG_HINT), path).source, path);
}

/** Makes the configuration from an input that has passed the checks. Pure. */
export function configFrom(input: GatewayInput, file: string): Config {
  const folder = dirname(resolve(file));
  const dirs = (input.profile_dirs ?? ["profiles"]).map((dir) => resolve(folder, dir));
  const top = absolute(input, folder);
  return {
    ...top,
    profile_dirs: [...new Set([...dirs, madeProfiles(top.data_dir), SHIPPED_PROFILES])],
    page: absolute(input.page, folder),
    service: absolute(input.service, folder),
    ...(input.metrics === undefined ? {} : { metrics: absolute(input.metrics, folder) }),
    booths: input.booths.map((booth) => boothOf(booth, folder)),
    outputs: input.outputs.map((output) => absolute(output, folder)),
    notices: input.notices.map((notice) => noticeOf(notice, folder)),
  };
}

function noticeOf({ mail, webhook, mqtt, ...notice }: NoticeInput, folder: string): NoticeConfig {
  return {
    ...notice,
    ...(mail === undefined ? {} : { mail: absolute(mail, folder) }),
    ...(webhook === undefined ? {} : { webhook: absolute(webhook, folder) }),
    ...(mqtt === undefined ? {} : { mqtt: absolute(mqtt, folder) }),
  };
}

function boothOf({ modbus, opcua, ...booth }: BoothInput, folder: string): BoothConfig {
  if (opcua !== undefined) return { ...booth, opcua: absolute(opcua, folder) };
  if (modbus !== undefined) return { ...booth, modbus: modbusOf(modbus) };
  throw new Error("a booth without a link passed the checks"); // checkGateway rejects such a booth
}

/** Makes the paths of a section absolute: the texts whose key ends in _file or _dir. Leaves nested sections unchanged. */
function absolute<T extends object>(part: T, folder: string): T {
  const paths = Object.entries(part).flatMap(([key, value]) =>
    /_(file|dir)$/.test(key) && typeof value === "string" ? [[key, resolve(folder, value)] as const] : [],
  );
  return { ...part, ...Object.fromEntries(paths) };
}

/** Matches keys whose value is a secret. The path of a secret's file is not a secret. */
const SECRET = /password|secret|credential$|(^|_)key$|(^|_)pin$/;
/** The key of a systemd credential's name, which is not a secret. */
const NO_SECRET = "api_key_credential";

/**
 * Returns every setting in force, with defaults and absolute paths. Each setting has its file and line; null means the default. Throws
 * ConfigError.
 */
export function settingsIn(file: string) {
  const { source } = openLayers(readSource(file, NO_CONFIG_HINT), file);
  const config = configFrom(parseWith(gatewaySchema, source), file);
  return leavesOf(config, []).map(([path, value]) => ({
    path: pathText(path),
    value: isSecret(path) ? "(hidden)" : value,
    ...placeOf(source, path),
  }));
}

function isSecret(path: DataPath): boolean {
  const name = path.findLast((step) => typeof step === "string") ?? "";
  // Treats a webhook's URL as a secret, because anyone who knows it can post to it.
  const isWebhook = name === "url" && path.includes("webhook");
  return isWebhook || (SECRET.test(name) && name !== NO_SECRET);
}

function leavesOf(value: unknown, path: DataPath): readonly (readonly [DataPath, unknown])[] {
  if (typeof value !== "object" || value === null) return [[path, value]];
  const entries = Array.isArray(value) ? [...(value as unknown[]).entries()] : Object.entries(value);
  return entries.flatMap(([step, part]) => leavesOf(part, [...path, step]));
}

function placeOf(source: YamlSource, path: DataPath): { readonly line: number | null; readonly file: string | null } {
  if (valueAt(source.data, path) === undefined) return { line: null, file: null };
  const { line, file = source.file } = source.problemAt(path, "");
  return { line, file };
}
