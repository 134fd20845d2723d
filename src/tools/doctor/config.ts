import { ConfigError } from "../../config/config-error.ts";
import { inspectConfig, type UsableConfig } from "../../config/usable.ts";
import { bad, ok, type Finding } from "./finding.ts";

/** What the configuration and its profiles are like; the configuration itself, as far as it can be used. */
export function examineConfig(path: string): {
  readonly findings: readonly Finding[];
  readonly usable: UsableConfig | null;
} {
  try {
    const usable = inspectConfig(path);
    return { findings: [configFinding(path, usable), ...profileFindings(usable)], usable };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { findings: [broken("configuration", error)], usable: null };
  }
}

function configFinding(path: string, { fatal, booths, refused }: UsableConfig): Finding {
  if (fatal !== null) return broken("configuration", fatal);
  const count = booths.length + refused.length;
  return ok("configuration", `${path}: ${count.toString()} ${count === 1 ? "booth" : "booths"}`);
}

function profileFindings({ booths, refused }: UsableConfig): Finding[] {
  return [
    ...booths.map(({ config, profile }) =>
      ok(`profile of ${config.id}`, `${profile.name} ${profile.version}, ${profile.tags.length.toString()} tags`),
    ),
    ...refused.map(({ id, error }) => broken(`entry of ${id}`, error)),
  ];
}

function broken(what: string, error: ConfigError): Finding {
  return bad(
    what,
    error.brief(),
    `correct ${error.file}: "booth-gateway check" shows the place; then restart the agent`,
  );
}
