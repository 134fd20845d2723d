import { CommandError, EXIT, type Command } from "./command.ts";
import { askReport, REPORT_NOTES, REPORT_OPTIONS, reportQuery, tableText } from "./report-options.ts";

interface Page {
  readonly data: Readonly<Record<string, readonly { readonly value: unknown; readonly system_time: string }[]>>;
  readonly page: number;
  readonly pages: number;
  readonly total: number;
}

/** `booth-gateway history TAGS`: what the named tags read. */
export const historyCommand: Command = {
  name: "history",
  operands: "TAGS",
  summary: "readings of tags over a window; several tags with commas between",
  options: {
    ...REPORT_OPTIONS,
    page: { value: "N", text: "page, from 1" },
    limit: { value: "N", text: "readings on a page, at most 1000 (default 50)" },
  },
  notes: [...REPORT_NOTES, "A reading is logged when its value changes, and with each heartbeat."],
  async run({ values, operands, io }) {
    const [tags] = operands;
    if (tags === undefined) throw new CommandError("name the tags, e.g. mode,cycle_count", EXIT.usage);
    const more = Object.fromEntries(
      ["page", "limit"].flatMap((name) => (typeof values[name] === "string" ? [[name, values[name]]] : [])),
    );
    const page = await askReport<Page>({ values, io }, "history", reportQuery(values, { tags, ...more }));
    io.out(values["json"] === true ? `${JSON.stringify(page, null, 2)}\n` : historyText(page));
    return EXIT.ok;
  },
};

export function historyText({ data, page, pages, total }: Page): string {
  const rows = Object.entries(data)
    .flatMap(([tag, values]) => values.map(({ system_time, value }) => [system_time, tag, String(value)]))
    .sort(([a = ""], [b = ""]) => (a < b ? -1 : a > b ? 1 : 0));
  const of = `${total.toString()} readings, page ${page.toString()} of ${pages.toString()}`;
  return `${tableText(["time", "tag", "value"], rows)}${of}\n`;
}
