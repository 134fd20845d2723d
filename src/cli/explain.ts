import { loadUsable } from "../config/usable.ts";
import type { Profile } from "../domain/profile.ts";
import type { Evidence, Explanation } from "../reports/explain.ts";
import { agentOf, configPath } from "../tools/agent-client.ts";
import { EXIT, type Run } from "../tools/command.ts";
import { linesText } from "../tools/texts.ts";
import { print } from "../tools/print.ts";
import { timeText, zoneOf } from "./time.ts";
import { reportQuery } from "./options.ts";

/** Returns the register of a reading and its raw value, as a text. */
type RegisterText = (evidence: Evidence) => string;

/** Runs `booth-gateway explain FIGURE`: traces a figure back to the registers it was computed from. */
export const explainCommand: Run = async (call) => {
  const { values, operands } = call;
  const agent = await agentOf(call);
  const booth = await agent.boothName();
  const query = await reportQuery(values, agent, { figure: operands[0] ?? "" });
  const explanation = await agent.report<Explanation>(booth, "explain", query);
  const configured = loadUsable(configPath(values)).booths.find(({ config }) => config.id === booth);
  const register: RegisterText = configured === undefined ? () => "" : registerIn(configured.profile);
  const parts = explanation.parts.map((part) => ({
    ...part,
    evidence: part.evidence.map((one) => ({ ...one, register: register(one) })),
  }));
  print(call, { ...explanation, parts }, () => explainText(explanation, register, zoneOf(values)));
  return EXIT.ok;
};

/** Returns a function that names a reading's register and computes its raw value from the decoded value, according to the profile. */
export function registerIn(profile: Profile): RegisterText {
  return ({ tag, value }) => {
    const found = profile.tags.find(({ name }) => name === tag);
    if (found === undefined) return "";
    const { type, scale, offset } = found.point;
    const place = "table" in found.point ? `${found.point.table} ${found.point.address}` : "node";
    const raw = typeof value === "number" ? Math.round((value - offset) / scale) : value;
    return `${place} (${type}) held ${String(raw)}`;
  };
}

export function explainText(explanation: Explanation, register: RegisterText, tz: string): string {
  const time = (at: number): string => timeText(at, tz);
  const { figure, window, value, unit, rules, parts, left_out, coverage } = explanation;
  return linesText([
    `${figure} from ${time(window.start)} to ${time(window.end)}`,
    ...Object.entries(value).map(
      ([name, amount]) => `  ${unit === "ms" ? name.replace(/_ms$/, "") : name}: ${amountText(amount, unit)}`,
    ),
    `  observed ${minutes(coverage.observed_ms)}, inferred ${minutes(coverage.inferred_ms)}, missing ${minutes(coverage.missing_ms)}`,
    "rules",
    ...rules.map((rule) => `  ${localText(rule, tz)}`),
    "made of",
    ...parts.flatMap((part) => [
      `  ${time(part.start)} to ${time(part.end)}  ${amountText(part.amount, unit)}  ${part.text}`,
      ...part.evidence.map(
        (one) =>
          `    record ${one.seq}: ${one.tag} = ${String(one.value)} (${one.quality}) at ${time(one.at)}; ${register(one)}`,
      ),
    ]),
    left_out === 0 ? null : `  and ${left_out} more`,
  ]);
}

/** Converts the times in a rule's text to the output's time zone. */
function localText(rule: string, tz: string): string {
  return rule.replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/g, (utc) => timeText(utc.replace(" UTC", "Z"), tz));
}

function amountText(amount: number, unit: Explanation["unit"]): string {
  if (unit === "ms") return minutes(amount);
  return unit === "count" ? String(amount) : `${Math.round(amount * 10_000) / 10_000} ${unit}`;
}

function minutes(ms: number): string {
  return `${Math.round(ms / 6) / 10_000} min`;
}
