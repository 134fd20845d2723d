import {
  closeSync,
  existsSync,
  fchmodSync,
  fchownSync,
  openSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { ConfigError } from "../config/config-error.ts";
import { settingsIn } from "../config/config.ts";
import { replaceDurably } from "../config/durable-file.ts";
import { settingPath, withSetting } from "../config/edit.ts";
import { inspectText, verdictOn } from "../config/usable.ts";
import { NO_CONFIG_HINT, readSource } from "../config/yaml-source.ts";
import { configPath } from "../tools/agent-client.ts";
import { CommandError, EXIT, type Call, type Run } from "../tools/command.ts";
import { meant } from "../tools/texts.ts";
import { print, tableText } from "../tools/print.ts";
import { message } from "../domain/message.ts";
import { errorText } from "../domain/messages/message-error.ts";

const RESTART = 'it comes in force with "systemctl restart booth-gateway"';

/** Runs `booth-gateway config ACTION`: shows the settings in force, changes a setting, or undoes the last change. */
export const configCommand: Run = (call) => {
  const [action, setting, value] = call.operands;
  if (action === "set" && (setting === undefined || value === undefined)) {
    throw new CommandError("set needs a setting and a value", EXIT.usage);
  }
  if (action !== "set" && value !== undefined) throw new CommandError(`"${value}" is one word too many`, EXIT.usage);
  if (action === "set") return Promise.resolve(set(call, setting ?? "", value ?? ""));
  if (action === "show") return Promise.resolve(showSettings(call, setting));
  if (setting !== undefined) throw new CommandError(`rollback takes no setting`, EXIT.usage);
  return Promise.resolve(takeBack(call));
};

function showSettings(call: Call, wanted: string | undefined): number {
  const file = configPath(call.values);
  const all = settingsIn(file);
  const isWanted = (path: string): boolean =>
    wanted === undefined || path === wanted || path.startsWith(`${wanted}.`) || path.startsWith(`${wanted}[`);
  const settings = all.filter(({ path }) => isWanted(path));
  if (settings.length === 0) {
    const paths = all.map(({ path }) => path);
    throw new CommandError(`unknown setting ${wanted ?? ""}${meant(wanted ?? "", paths)}`);
  }
  print(call, { file, settings }, () => {
    const rows = settings.map(({ path, value, line, file: from }) => [
      path,
      typeof value === "string" ? value : JSON.stringify(value),
      line === null ? "default" : from === file ? `line ${line}` : `set up on the spot (${from ?? ""})`,
    ]);
    return `${file}\n${tableText(["setting", "value", "from"], rows)}`;
  });
  return EXIT.ok;
}

function set(call: Call, setting: string, value: string): number {
  const file = configPath(call.values);
  const path = settingPath(setting);
  if (path === null) {
    throw new CommandError(
      `"${setting}" is not the path of a setting, such as service.url or booths.booth-1.modbus.host`,
      EXIT.usage,
    );
  }
  const before = readSource(file, NO_CONFIG_HINT);
  let after: string;
  try {
    after = withSetting(before, path, value);
  } catch (error) {
    throw new CommandError(message("edit.nothing_changed", { file, reason: errorText(error) }), EXIT.usage, error);
  }
  mustBeSound(after, file);
  const changed = after !== before;
  const last_good = lastGoodOf(file);
  if (changed) {
    if (isSound(before, file)) replaceFile(last_good, readFileSync(file), file);
    replaceFile(file, after, file);
  }
  print(call, { file, setting, value, changed, last_good }, () =>
    changed
      ? `${file}: ${setting} is set; ${RESTART}. "booth-gateway config rollback" takes it back.\n`
      : `${file}: ${setting} was so already\n`,
  );
  return EXIT.ok;
}

/** Throws a ConfigError for a text with any problem, even a problem that would disable only one booth. */
function mustBeSound(text: string, file: string): void {
  const error = verdictOn(inspectText(text, file));
  if (error !== null) throw error;
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

function takeBack(call: Call): number {
  const file = configPath(call.values);
  const lastGood = lastGoodOf(file);
  if (!existsSync(lastGood)) throw new CommandError(`${lastGood} does not exist: "config set" has changed nothing yet`);
  const good = readFileSync(lastGood);
  mustBeSound(good.toString(), lastGood);
  const before = existsSync(file) ? readFileSync(file) : null;
  const changed = before?.toString() !== good.toString();
  const replaced = changed ? `${file}.replaced` : null;
  if (replaced !== null) {
    if (before !== null) replaceFile(replaced, before, file);
    replaceFile(file, good, lastGood);
  }
  print(call, { file, changed, replaced }, () =>
    replaced === null
      ? `${file} is the last good one already\n`
      : `${file} is the last good one again; what it was is kept as ${replaced}; ${RESTART}\n`,
  );
  return EXIT.ok;
}

/** Returns the path of the last configuration that had no problems. */
function lastGoodOf(file: string): string {
  return `${file}.last-good`;
}

/**
 * Replaces a file durably and as a whole. Copies mode and owner from the file `like`, so the agent's user can read files written by root
 * under any umask.
 */
function replaceFile(file: string, content: string | Buffer, like: string): void {
  const { mode, uid, gid } = statSync(like);
  const fresh = `${file}.new`;
  const open = openSync(fresh, "w", 0o600);
  try {
    if (process.getuid?.() === 0) fchownSync(open, uid, gid);
    fchmodSync(open, mode & 0o777);
    writeFileSync(open, content, { flush: true });
  } finally {
    closeSync(open);
  }
  replaceDurably(fresh, file);
}
