import { parseTime } from "../contract/time.ts";
import { askAgent, socketPath } from "../tools/agent-client.ts";
import { CommandError, EXIT, type Io, type Values } from "./command.ts";

/** One --from or --to as the query wants it. Throws a CommandError where it is no time. */
function timeOption(values: Values, name: "from" | "to"): string | undefined {
  const text = values[name];
  if (typeof text !== "string") return undefined;
  const time = parseTime(text.includes(":") ? text : `${text} 00:00:00`);
  if (time === null) throw new CommandError(`--${name} ${text} is not a time like 2026-03-02T15:00:00Z`, EXIT.usage);
  return new Date(time).toISOString();
}

/** The query of a report: the window, and what the command adds. */
export function reportQuery(values: Values, more: Readonly<Record<string, string>> = {}): URLSearchParams {
  const [start, end] = [timeOption(values, "from"), timeOption(values, "to")];
  return new URLSearchParams({
    ...(start === undefined ? {} : { start }),
    ...(end === undefined ? {} : { end }),
    ...more,
  });
}

/** The booth that is meant: the one named, else the only one there is. */
export async function boothName(values: Values, io: Io): Promise<string> {
  if (typeof values["booth"] === "string") return values["booth"];
  const answer = await askAgent(await socketPath(values, io), { method: "GET", path: "/status" });
  // The agent answers its own shape.
  const { booths } = answer as { booths: readonly { booth: string }[] };
  const [only, ...others] = booths.map(({ booth }) => booth);
  if (only === undefined || others.length > 0) {
    throw new CommandError(`name the booth with --booth: ${booths.map(({ booth }) => booth).join(", ")}`, EXIT.usage);
  }
  return only;
}

/** Asks for one of a booth's reports. */
export async function askReport<T>(
  ask: { readonly values: Values; readonly io: Io },
  operation: string,
  query: URLSearchParams,
): Promise<T> {
  const booth = await boothName(ask.values, ask.io);
  const path = `/api/booths/${encodeURIComponent(booth)}/${operation}?${query.toString()}`;
  // The box answers the shape of the operation.
  return (await askAgent(await socketPath(ask.values, ask.io), { method: "GET", path })) as T;
}

/** Rows of cells as aligned columns; numbers to the right. */
export function tableText(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const cells = [head, ...rows.map((row) => row.map(String))];
  const widths = head.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  const isNumber = head.map((_, column) => rows.some((row) => typeof row[column] === "number"));
  const lines = cells.map((row) =>
    row
      .map((cell, column) =>
        isNumber[column] === true ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
      )
      .join("  ")
      .trimEnd(),
  );
  return `${lines.join("\n")}\n`;
}
