import { nearest } from "../config/nearest.ts";
import type { Quality } from "../domain/booth.ts";
import { askAgent, socketPath } from "../tools/agent-client.ts";
import { CommandError, EXIT, type Call, type Run } from "./command.ts";
import { print } from "./print.ts";
import { askReport, boothName, reportQuery, tableText } from "./report-options.ts";

interface Reading {
  readonly value: unknown;
  readonly system_time: string;
  readonly quality: Quality;
}

interface Page {
  readonly data: Readonly<Record<string, readonly Reading[]>>;
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
  const page = await askReport<Page>(
    { values, io },
    "history",
    reportQuery(values, { tags, coverage: "true", ...more }),
  );
  const silent = Object.keys(page.data).filter((tag) => page.data[tag]?.length === 0);
  if (silent.length > 0) await refuseUnknown(silent, { values, io });
  print({ values, io }, page, historyText);
  return EXIT.ok;
};

/** A tag that the booth hasn't got reads nothing for ever: a slip, which an empty table would hide. Throws then. */
async function refuseUnknown(silent: readonly string[], { values, io }: Pick<Call, "values" | "io">): Promise<void> {
  const booth = await boothName(values, io);
  const path = `/readings?booth=${encodeURIComponent(booth)}`;
  // The agent answers its own shape.
  const { readings } = (await askAgent(await socketPath(values, io), { method: "GET", path })) as Known;
  const known = readings.map(({ tag }) => tag);
  const unknown = silent.filter((tag) => !known.includes(tag));
  if (unknown.length === 0) return;
  const words = unknown.map((tag) => {
    const near = nearest(tag, known);
    return `"${tag}"${near === undefined ? "" : ` (did you mean "${near}"?)`}`;
  });
  throw new CommandError(`${booth} has no tag ${words.join(", ")}; its tags: ${known.join(", ")}`, EXIT.usage);
}

interface Known {
  readonly readings: readonly { readonly tag: string }[];
}

export function historyText({ data, page, pages, total }: Page): string {
  const rows = Object.entries(data)
    .flatMap(([tag, values]) => values.map((one) => [one.system_time, tag, String(one.value), mark(one)]))
    .sort(([a = ""], [b = ""]) => (a < b ? -1 : a > b ? 1 : 0));
  const of = `${total.toString()} readings, page ${page.toString()} of ${pages.toString()}`;
  return `${tableText(["time", "tag", "value", ""], rows)}${of}\n`;
}

/** A reading is taken for good where nothing stands beside it. */
function mark({ quality }: Reading): string {
  return quality === "good" ? "" : quality;
}
