import {
  closeSync,
  existsSync,
  fchmodSync,
  fchownSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { ConfigError } from "../config/config-error.ts";
import { settingPath, withSetting, type SettingPath } from "../config/edit.ts";
import { nearest } from "../config/nearest.ts";
import { settingsIn, type Setting } from "../config/origins.ts";
import { inspectText } from "../config/usable.ts";
import { NO_CONFIG_HINT, readSource } from "../config/yaml-source.ts";
import { configPath } from "../tools/agent-client.ts";
import { CommandError, EXIT, type Call, type Run } from "./command.ts";
import { print } from "./print.ts";
import { tableText } from "./report-options.ts";
import { dirname } from "node:path";

const RESTART = 'it comes in force with "systemctl restart booth-gateway"';

/** `booth-gateway config ACTION`: what is in force and why, one setting changed, the change taken back. */
export const configCommand: Run = (call) => {
  const [action, setting, value] = call.operands;
  if (action === "set" && (setting === undefined || value === undefined)) {
    throw new CommandError("set needs a setting and its value", EXIT.usage);
  }
  if (action !== "set" && value !== undefined) throw new CommandError(`"${value}" is one word too many`, EXIT.usage);
  if (action === "set") return Promise.resolve(set(call, setting ?? "", value ?? ""));
  if (action === "show") return Promise.resolve(showSettings(call, setting));
  if (setting !== undefined) throw new CommandError(`rollback takes no setting`, EXIT.usage);
  return Promise.resolve(takeBack(call));
};

function showSettings({ values, io }: Call, wanted: string | undefined): number {
  const file = configPath(values);
  const all = settingsIn(file);
  const settings = all.filter(({ path }) => wanted === undefined || isBelow(path, wanted));
  if (settings.length === 0) throw new CommandError(`there is no setting ${wanted ?? ""}${hintFor(wanted ?? "", all)}`);
  print({ values, io }, { file, settings }, () => {
    const rows = settings.map(({ path, value, line }) => [path, textOf(value), originOf(line)]);
    return `${file}\n${tableText(["setting", "value", "from"], rows)}`;
  });
  return EXIT.ok;
}

function isBelow(path: string, wanted: string): boolean {
  return path === wanted || path.startsWith(`${wanted}.`) || path.startsWith(`${wanted}[`);
}

function hintFor(wanted: string, settings: readonly Setting[]): string {
  const name = nearest(
    wanted,
    settings.map(({ path }) => path),
  );
  return name === undefined ? "" : ` (did you mean ${name}?)`;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

function originOf(line: number | null): string {
  return line === null ? "default" : `line ${line.toString()}`;
}

function set({ values, io }: Call, setting: string, value: string): number {
  const file = configPath(values);
  const path = settingPath(setting);
  if (path === null) {
    throw new CommandError(`"${setting}" is no setting like service.url or booths.booth-1.modbus.host`, EXIT.usage);
  }
  const before = readSource(file, NO_CONFIG_HINT);
  const after = edited(file, { text: before, path, value });
  mustBeSound(after, file);
  if (after !== before) {
    if (isSound(before, file)) copyWhole(file, lastGoodOf(file));
    replaceFile(file, after);
  }
  const answer = { file, setting, value, changed: after !== before, last_good: lastGoodOf(file) };
  print({ values, io }, answer, ({ changed }) =>
    changed
      ? `${file}: ${setting} is set; ${RESTART}. "booth-gateway config rollback" takes it back.\n`
      : `${file}: ${setting} was so already\n`,
  );
  return EXIT.ok;
}

function edited(
  file: string,
  { text, path, value }: { readonly text: string; readonly path: SettingPath; readonly value: string },
): string {
  try {
    return withSetting(text, path, value);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new CommandError(`nothing was changed in ${file}: ${why}`, EXIT.usage, error);
  }
}

/** Throws the ConfigError of a text that can't be used, booths included: what is typed by hand isn't half wanted. */
function mustBeSound(text: string, file: string): void {
  const { fatal, refused } = inspectText(text, file);
  const error = fatal ?? refused[0]?.error;
  if (error !== undefined) throw error;
}

function isSound(text: string, file: string): boolean {
  try {
    mustBeSound(text, file);
    return true;
  } catch (error) {
    if (error instanceof ConfigError) return false;
    throw error;
  }
}

function takeBack({ values, io }: Call): number {
  const file = configPath(values);
  const lastGood = lastGoodOf(file);
  if (!existsSync(lastGood)) throw new CommandError(`there is no ${lastGood}: nothing was changed by "config set"`);
  const text = readFileSync(lastGood, "utf8");
  mustBeSound(text, lastGood);
  const changed = !existsSync(file) || readFileSync(file, "utf8") !== text;
  if (changed) rollBack(file);
  const answer = { file, changed, replaced: changed ? replacedOf(file) : null };
  print({ values, io }, answer, ({ replaced }) =>
    replaced === null
      ? `${file} is the last good one already\n`
      : `${file} is the last good one again; what it was is kept as ${replaced}; ${RESTART}\n`,
  );
  return EXIT.ok;
}

/** The configuration as it was when it was last found in order. */
export function lastGoodOf(file: string): string {
  return `${file}.last-good`;
}

/** What a rollback put aside. */
export function replacedOf(file: string): string {
  return `${file}.replaced`;
}

/** Puts the text in the file's place, whole or not at all, with the file's own mode and owner; durable when it returns. */
export function replaceFile(file: string, text: string): void {
  putWhole(file, text, file);
}

/** A copy, mode and owner with it, whole or not at all. */
export function copyWhole(from: string, to: string): void {
  putWhole(to, readFileSync(from), from);
}

/** Puts the last good one in the file's place; what stood there is kept beside it. */
export function rollBack(file: string): void {
  if (existsSync(file)) copyWhole(file, replacedOf(file));
  copyWhole(lastGoodOf(file), file);
}

/** Mode and owner are those of another file: a umask takes nothing away, and the agent's user can read what root has written. */
function putWhole(file: string, content: string | Buffer, like: string): void {
  const { mode, uid, gid } = statSync(like);
  const fresh = `${file}.new`;
  const open = openSync(fresh, "w", 0o600);
  try {
    if (process.getuid?.() === 0) fchownSync(open, uid, gid);
    fchmodSync(open, mode & 0o777);
    writeFileSync(open, content);
    fsyncSync(open);
  } finally {
    closeSync(open);
  }
  renameSync(fresh, file);
  syncFolder(file);
}

function syncFolder(file: string): void {
  const folder = openSync(dirname(file), "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
