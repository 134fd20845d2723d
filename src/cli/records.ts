import type { BakesBody, SheetBody } from "../contract/records.ts";
import type { FilterLabel } from "../domain/entry.ts";
import { type Agent, agentOf } from "../tools/agent-client.ts";
import { type Call, CommandError, EXIT, type Run } from "../tools/command.ts";
import { textOption } from "../tools/options.ts";
import { print, tableText } from "../tools/print.ts";
import { bakesCsv, sheetCsv } from "../tools/records/csv.ts";
import { bakesHtml, sheetHtml, withPersons } from "../tools/records/html.ts";
import { languageOf, localText } from "../tools/records/texts.ts";
import { reportQuery } from "./options.ts";

/** Runs `booth-gateway records`: prints the log sheet of the filters or the bake records, or checks a printed digest. */
export const recordsCommand: Run = async (call) => {
  const { operands, values } = call;
  const [action, digest] = operands;
  const agent = await agentOf(call);
  const booth = await agent.boothName();
  const from = textOption(values, "from") ?? "-30d";
  const query = await reportQuery({ ...values, from, ...lastDay(values["to"]) }, agent);
  const sheet = (): Promise<SheetBody> => agent.report<SheetBody>(booth, "log_sheet", query);
  const bakes = (more: Readonly<Record<string, string>> = {}): Promise<BakesBody> =>
    agent.report<BakesBody>(booth, "bake_records", new URLSearchParams([...query, ...Object.entries(more)]));
  if (action === "verify") return verified(call, digest, [await sheet(), await bakes()]);
  const language = languageOf(textOption(values, "lang"));
  if (action === "filters") {
    const names = await namesOf(agent, booth);
    const html = (body: SheetBody): string => withPersons(sheetHtml(body, language), names);
    return shown(call, await sheet(), { csv: sheetCsv, html, text: (body) => sheetText(body, names) });
  }
  const body = await bakes(values["html"] === true ? { curve: "true" } : {});
  return shown(call, body, { csv: bakesCsv, html: (one) => bakesHtml(one, language), text: bakesText });
};

const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** Includes the whole of a day that --to names, because a record is about days. */
function lastDay(to: unknown): Readonly<Record<string, string>> {
  if (typeof to !== "string" || !DAY.test(to)) return {};
  const [year = 0, month = 0, day = 0] = to.split("-").map(Number);
  return { to: new Date(Date.UTC(year, month - 1, day + 1)).toISOString().slice(0, 10) };
}

/** Returns the names of the persons who entered filter changes, by entry. */
async function namesOf(agent: Pick<Agent, "get">, booth: string): Promise<ReadonlyMap<string, string>> {
  const { data } = await agent.get<{ readonly data: readonly FilterLabel[] }>("/filters/entries", { booth });
  return new Map(data.map(({ id, by }) => [id, by]));
}

interface Forms<B> {
  readonly csv: (body: B) => Generator<string>;
  readonly html: (body: B) => string;
  readonly text: (body: B) => string;
}

function shown<B extends object>(call: Call, body: B, { csv, html, text }: Forms<B>): number {
  const { values, io } = call;
  if (values["html"] === true) io.out(html(body));
  else if (values["csv"] === true) for (const line of csv(body)) io.out(line);
  else print(call, body, text);
  return EXIT.ok;
}

function verified(call: Call, digest: string | undefined, bodies: readonly (SheetBody | BakesBody)[]): number {
  if (digest === undefined)
    throw new CommandError("name the digest that is printed in the document's head", EXIT.usage);
  const plain = (text: string): string => text.toLowerCase().replaceAll(/[^0-9a-f]/g, "");
  const found = bodies.find((body) => plain(body.digest) === plain(digest));
  const [{ head } = { head: null }] = bodies;
  const period = head === null ? "" : `${head.from} to ${head.to}`;
  const answer = { same: found !== undefined, document: found?.head.document ?? null, from: head?.from, to: head?.to };
  print(call, answer, () =>
    found === undefined
      ? `no document of ${period} has this digest: the document was changed, its period is another, or a day was corrected later\n`
      : `the ${found.head.document === "log_sheet" ? "log sheet" : "bake record"} of ${period} is unchanged\n`,
  );
  return found === undefined ? EXIT.failed : EXIT.ok;
}

function sheetText({ head, digest, days, changes }: SheetBody, names: ReadonlyMap<string, string>): string {
  const rows = days.flatMap(({ day, use_minutes, no_data_minutes, filters }) =>
    filters.map(({ filter, use_hours, limit_hours, sensor, highest_pa, limit_pa, overuse_since }) => {
      const drop = sensor ? `${highest_pa ?? "not measured"} of ${limit_pa ?? "-"} Pa` : "no sensor";
      const use = `${use_hours ?? "unknown"} of ${limit_hours ?? "-"} h`;
      return [day, use_minutes, no_data_minutes, filter, use, drop, overuse_since === null ? "" : "OVERDUE"];
    }),
  );
  const changed = changes.map(({ filter, at, source, id, part_number, note }) => {
    const person = names.get(id ?? "") ?? "";
    return [localText(at, head.tz), filter, source, part_number || "-", note || "-", person || "-"];
  });
  const sheet =
    rows.length === 0
      ? "no day of use\n"
      : tableText(["day", "use min", "no data min", "filter", "use", "drop", ""], rows);
  const list = changed.length === 0 ? "" : tableText(["changed", "filter", "how", "part", "note", "by"], changed);
  return `${sheet}${list}${footText(head, digest)}`;
}

function bakesText({ head, digest, bakes }: BakesBody): string {
  const rows = bakes.map(({ bay, start, bake_minutes, air, metal, rules }) => {
    const peak = (sensor: typeof air): string => (sensor === null ? "no sensor" : `${sensor.peak_c ?? "-"}`);
    const verdicts = rules.map(({ rule, verdict, reason }) => {
      return `${rule}: ${verdict.replace("_", " ")}${reason === "" ? "" : ` (${reason.replace("_", " ")})`}`;
    });
    return [localText(start, head.tz), bay, bake_minutes, peak(air), peak(metal), verdicts.join("; ") || "no rule"];
  });
  const heads = ["start", "bay", "bake min", "air peak C", "metal peak C", "verdicts"];
  return `${rows.length === 0 ? "no bake\n" : tableText(heads, rows)}${footText(head, digest)}`;
}

function footText({ from, to, tz }: SheetBody["head"], digest: string): string {
  return `${from} to ${to}, ${tz}, digest ${digest}\n`;
}
