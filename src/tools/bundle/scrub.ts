import { readFileSync } from "node:fs";
import type { Config } from "../../config/port.ts";
import type { AgentStatus } from "../../domain/status.ts";

/** Shorter ones would be found in words that are no secrets. */
const LEAST_LENGTH = 4;
const PEM = /-----BEGIN [^-]+-----[^]*?-----END [^-]+-----/g;

/**
 * A second net below the list of what may be told: known secrets, and names of customers, are taken out of free text, as they
 * are and as JSON writes them; so is whatever looks like a PEM file.
 */
export function scrubber(secrets: readonly string[]): (text: string) => string {
  const known = secrets.filter((secret) => secret.length >= LEAST_LENGTH).toSorted((a, b) => b.length - a.length);
  const forms = [...new Set(known.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]))];
  return (text) =>
    forms.reduce((left, form) => left.replaceAll(form, "[left out]"), text.replaceAll(PEM, "[left out]"));
}

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
