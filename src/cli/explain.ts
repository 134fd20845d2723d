import { loadUsable } from "../config/usable.ts";
import type { Profile } from "../domain/profile.ts";
import type { Evidence } from "../reports/evidence.ts";
import type { Explanation } from "../reports/explain.ts";
import { configPath } from "../tools/agent-client.ts";
import { EXIT, type Run } from "./command.ts";
import { print } from "./print.ts";
import { askReport, boothName, reportQuery } from "./report-options.ts";

/** Names a tag's register and what it held. */
type RegisterText = (evidence: Evidence) => string;

/** `booth-gateway explain FIGURE`: from a number back to registers. */
export const explainCommand: Run = async ({ values, operands, io }) => {
  const [figure = ""] = operands;
  const booth = await boothName(values, io);
  const asked = { values: { ...values, booth }, io };
  const explanation = await askReport<Explanation>(asked, "explain", reportQuery(values, { figure }));
  const configured = loadUsable(configPath(values)).booths.find(({ config }) => config.id === booth);
  const register = configured === undefined ? noRegister : registerIn(configured.profile);
  const parts = explanation.parts.map((part) => ({
    ...part,
    evidence: part.evidence.map((one) => ({ ...one, register: register(one) })),
  }));
  const whole = { ...explanation, parts };
  print(asked, whole, () => explainText(explanation, register));
  return EXIT.ok;
};

const noRegister: RegisterText = () => "";

/** From the profile's map: the decoded value taken back to the register's raw one. */
export function registerIn(profile: Profile): RegisterText {
  return ({ tag, value }) => {
    const found = profile.tags.find(({ name }) => name === tag);
    if (found === undefined) return "";
    const { type, scale, offset } = found.point;
    const place = "table" in found.point ? `${found.point.table} ${found.point.address.toString()}` : "node";
    const raw = typeof value === "number" ? Math.round((value - offset) / scale) : value;
    return `${place} (${type}) held ${String(raw)}`;
  };
}

export function explainText(explanation: Explanation, register: RegisterText): string {
  const { figure, window, value, unit, rules, parts, left_out, coverage } = explanation;
  const values = Object.entries(value).map(([name, amount]) => `  ${name}: ${amountText(amount, unit)}`);
  const seen = `observed ${minutes(coverage.observed_ms)}, inferred ${minutes(coverage.inferred_ms)}, missing ${minutes(coverage.missing_ms)}`;
  const lines = [
    `${figure} from ${time(window.start)} to ${time(window.end)}`,
    ...values,
    `  ${seen}`,
    "rules",
    ...rules.map((rule) => `  ${rule}`),
    "made of",
    ...parts.flatMap((part) => [
      `  ${time(part.start)} to ${time(part.end)}  ${amountText(part.amount, unit)}  ${part.text}`,
      ...part.evidence.map(
        (one) =>
          `    record ${one.seq.toString()}: ${one.tag} = ${String(one.value)} (${one.quality}) at ${time(one.at)}; ${register(one)}`,
      ),
    ]),
    ...(left_out === 0 ? [] : [`  and ${left_out.toString()} more`]),
  ];
  return `${lines.join("\n")}\n`;
}

function amountText(amount: number, unit: Explanation["unit"]): string {
  if (unit === "ms") return minutes(amount);
  return unit === "count" ? amount.toString() : `${(Math.round(amount * 10_000) / 10_000).toString()} ${unit}`;
}

function minutes(ms: number): string {
  return `${(Math.round(ms / 6) / 10_000).toString()} min`;
}

function time(ms: number): string {
  return new Date(ms).toISOString();
}
