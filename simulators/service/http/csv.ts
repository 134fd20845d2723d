/** A spreadsheet computes what begins so, be it after blanks or in its wide form; a whole number alone is what it seems. */
const LEADERS = "=+-@＝＋－＠";

function isFormula(text: string): boolean {
  const first = text.trimStart().charAt(0);
  const isLed = first !== "" && LEADERS.includes(first);
  return "\t\r\n".includes(text.charAt(0) || " ") || (isLed && (/[^-+.\dEe]/.test(text) || Number.isNaN(Number(text))));
}

/** Quoted where it must be; a text that a spreadsheet would take for a formula is made harmless. */
export function csvField(value: unknown): string {
  if (value === null || value === undefined) return "";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const safe = isFormula(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Lines under one head, each ended. */
export function csvOf(head: readonly string[], lines: readonly (readonly unknown[])[]): string {
  return [head, ...lines].map((line) => `${line.map(csvField).join(",")}\n`).join("");
}

export const CSV_HEADERS = { "content-type": "text/csv; charset=utf-8" };
