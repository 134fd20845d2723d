/**
 * First characters of a formula in a spreadsheet, also in their full-width form and after blanks. A whole number alone
 * is safe.
 */
const LEADERS = "=+-@＝＋－＠";

function isFormula(text: string): boolean {
  const first = text.trimStart().charAt(0);
  const isLed = first !== "" && LEADERS.includes(first);
  return "\t\r\n".includes(text.charAt(0) || " ") || (isLed && (/[^-+.\dEe]/.test(text) || Number.isNaN(Number(text))));
}

/** Quotes a field if necessary, and makes a text harmless that a spreadsheet would take for a formula. */
export function csvField(value: unknown): string {
  if (value === null || value === undefined) return "";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const safe = isFormula(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Returns lines under a header line, each with a line end. */
export function csvOf(head: readonly string[], lines: readonly (readonly unknown[])[]): string {
  return [head, ...lines].map((line) => `${line.map(csvField).join(",")}\n`).join("");
}

export const CSV_HEADERS = { "content-type": "text/csv; charset=utf-8" };
