import { EXIT, type Run } from "./command.ts";
import { print } from "./print.ts";
import { askReport, reportQuery, tableText } from "./report-options.ts";

interface Page {
  readonly data: Readonly<Record<string, readonly { readonly value: unknown; readonly system_time: string }[]>>;
  readonly page: number;
  readonly pages: number;
  readonly total: number;
}

/** `booth-gateway history TAGS`: what the named tags read. */
export const historyCommand: Run = async ({ values, operands, io }) => {
  const [tags = ""] = operands;
  const more = Object.fromEntries(
    ["page", "limit"].flatMap((name) => (typeof values[name] === "string" ? [[name, values[name]]] : [])),
  );
  const page = await askReport<Page>({ values, io }, "history", reportQuery(values, { tags, ...more }));
  print({ values, io }, page, historyText);
  return EXIT.ok;
};

export function historyText({ data, page, pages, total }: Page): string {
  const rows = Object.entries(data)
    .flatMap(([tag, values]) => values.map(({ system_time, value }) => [system_time, tag, String(value)]))
    .sort(([a = ""], [b = ""]) => (a < b ? -1 : a > b ? 1 : 0));
  const of = `${total.toString()} readings, page ${page.toString()} of ${pages.toString()}`;
  return `${tableText(["time", "tag", "value"], rows)}${of}\n`;
}
