import { readFileSync } from "node:fs";
import type { Config } from "../../core/types/config.ts";
import type { AgentStatus } from "../../core/types/status.ts";

/** What must appear nowhere: the content of files that hold secrets, as far as they may be read, and customers' names. */
export function knownSecrets(config: Config | null, status: AgentStatus | null): readonly string[] {
  const names = (status?.booths ?? []).flatMap(({ provisioning }) => [provisioning.account, provisioning.facility]);
  return [...secretFiles(config).flatMap(contentOf), ...names.filter((name) => name !== null)];
}

function secretFiles(config: Config | null): readonly string[] {
  if (config === null) return [];
  const { service, page, booths } = config;
  const files = [service.api_key_file, service.client_key_file, page.pin_file];
  return [...files, ...booths.flatMap(({ opcua }) => [opcua?.password_file, opcua?.user_key_file])].filter(
    (file) => file !== undefined,
  );
}

/** The whole, and each line of it. A file that can't be read here can't have got anywhere from here either. */
function contentOf(file: string): string[] {
  try {
    const text = readFileSync(file, "utf8").trim();
    return [text, ...text.split("\n").map((line) => line.trim())].filter((line) => line !== "");
  } catch {
    return [];
  }
}
