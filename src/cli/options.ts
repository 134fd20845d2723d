import type { EpochMs } from "../domain/units.ts";
import type { Agent } from "../tools/agent-client.ts";
import { CommandError, EXIT, type Values } from "../tools/command.ts";
import { textOption } from "../tools/options.ts";
import { instantIn, zoneOf } from "./time.ts";

interface Window {
  readonly start?: string;
  readonly end?: string;
}

/** Returns --from and --to as query parameters. Throws a CommandError for an option that isn't a time. */
function windowOptions(values: Values, now: EpochMs): Window {
  const instant = (name: "from" | "to"): string | undefined => {
    const text = textOption(values, name);
    if (text === undefined) return undefined;
    const time = instantIn(text, { now, tz: zoneOf(values) });
    if (time !== null) return new Date(time).toISOString();
    const known = "today, yesterday, -2h, 2026-03-02 or 2026-03-02T15:00:00Z";
    throw new CommandError(`--${name} ${text} is not a time like ${known}`, EXIT.usage);
  };
  const start = instant("from");
  const end = instant("to");
  return { ...(start === undefined ? {} : { start }), ...(end === undefined ? {} : { end }) };
}

/** Returns whether a time is relative to now. Any other time starts with a digit of its year. */
function isRelative(text: string | undefined): boolean {
  return text !== undefined && !/^\s*\d/.test(text);
}

/** Returns the query of a report: the time window, and further parameters. Relative times use the agent's clock, as the records do. */
export async function reportQuery(
  values: Values,
  agent: Pick<Agent, "status">,
  more: Readonly<Record<string, string>> = {},
): Promise<URLSearchParams> {
  const here = windowOptions(values, Date.now());
  const asksNow = isRelative(textOption(values, "from")) || isRelative(textOption(values, "to"));
  const window = asksNow ? windowOptions(values, (await agent.status()).at) : here;
  return new URLSearchParams({ ...window, ...more });
}
