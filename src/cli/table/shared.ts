import type { OptionSpec } from "../command.ts";

export const DEFAULT_CONFIG = "/etc/booth-gateway/gateway.yaml";

/** Options that several commands have, worded alike everywhere. */
export const CONFIG: { readonly config: OptionSpec } = {
  config: { value: "FILE", text: `the configuration (default ${DEFAULT_CONFIG})` },
};
export const JSON_OPTION: { readonly json: OptionSpec } = {
  json: { value: "", text: "print one JSON document" },
};
export const BOOTH: { readonly booth: OptionSpec } = {
  booth: { value: "BOOTH", text: "which booth, where there are several" },
};
export const WATCH: { readonly watch: OptionSpec } = {
  watch: { value: "", text: "show it anew each second until Ctrl-C; with --json one document a line" },
};
export const BY: { readonly by: OptionSpec } = {
  by: { value: "NAME", text: "who does this (default: the user's name)" },
};
export const YES: { readonly yes: OptionSpec } = { yes: { value: "", text: "without asking" } };

/** Of every command that asks the running agent. */
export const AGENT = { ...CONFIG, ...JSON_OPTION } as const;

/** Of every command that asks for a report. */
export const REPORT = {
  ...AGENT,
  ...BOOTH,
  from: {
    value: "TIME",
    text: 'start, e.g. 2026-03-02T15:00:00Z or "2026-03-02 15:00:00" (UTC); default the local day',
  },
  to: { value: "TIME", text: "end; default now" },
} as const;

export const REPORT_NOTES = ["Times are UTC. Without --from it is the booth's local day so far."] as const;
