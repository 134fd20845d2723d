import { dirname, resolve } from "node:path";
import { NO_CONFIG_HINT, openYaml, readSource } from "./yaml-source.ts";

export const DEFAULT_RUNTIME_DIR = "/run/booth-gateway";

/**
 * Where an agent with this configuration has its socket. Nothing else of the file is looked at: a mistake elsewhere must not
 * keep anybody from asking an agent that runs. Throws ConfigError where the file can't be read.
 */
export function runtimeDirOf(file: string): string {
  const { data } = openYaml(readSource(file, NO_CONFIG_HINT), file);
  const given: unknown = typeof data === "object" && data !== null ? Reflect.get(data, "runtime_dir") : undefined;
  return resolve(dirname(resolve(file)), typeof given === "string" ? given : DEFAULT_RUNTIME_DIR);
}
