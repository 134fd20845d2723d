import { message } from "../../domain/message.ts";
import { errorText } from "../../domain/messages/message-error.ts";
import { CommandError, EXIT } from "../command.ts";
import { csvTables, type Table } from "../rules/register-list.ts";
import type { Reader, Source, SourceTables } from "./source.ts";

/** A file format: its name, and its reader, which is loaded only for a file that may have the format. */
interface Format {
  readonly format: string;
  readonly isLikely: (source: Source) => boolean;
  readonly load: () => Promise<Reader>;
}

const isXml = ({ text }: Source): boolean => /^\s*</.test(text);
const isJson = ({ text }: Source): boolean => /^\s*[{[]\s*["{}[\]]/.test(text) && !/^\s*\[\[/.test(text);

const FORMATS: readonly Format[] = [
  {
    format: "XLSX",
    isLikely: ({ bytes }) => startsWith(bytes, [0x50, 0x4b, 3, 4]),
    load: async () => (await import("./xlsx.ts")).readXlsx,
  },
  { format: "XML", isLikely: isXml, load: async () => (await import("./nodeset.ts")).readNodeset },
  { format: "XML", isLikely: isXml, load: async () => (await import("./codesys.ts")).readCodesys },
  { format: "JSON", isLikely: isJson, load: async () => (await import("./ignition.ts")).readIgnition },
  { format: "JSON", isLikely: isJson, load: async () => (await import("./sunspec.ts")).readSunspec },
  {
    format: "TOML",
    isLikely: ({ text }) => text.includes("inputs.modbus"),
    load: async () => (await import("./telegraf.ts")).readTelegraf,
  },
  {
    format: "YAML",
    isLikely: ({ text }) => /^[ \t]*(- )?(source|plugin): /m.test(text),
    load: async () => (await import("./yaml-files.ts")).readEvcc,
  },
  {
    format: "YAML",
    isLikely: ({ text }) => /\baddress: *\d/.test(text),
    load: async () => (await import("./yaml-files.ts")).readHomeAssistant,
  },
  {
    format: "CSV",
    isLikely: ({ text }) => /^"?(MC|MI|MIR|MHR)\d/im.test(text),
    load: async () => (await import("./do-more.ts")).readDoMore,
  },
];

/** The largest YAML file in bytes. Parsing time grows faster than the file. A file with a thousand entities has about 200 kB. */
const MOST_YAML_BYTES = 1_000_000;

/** Formats from which no tag can be made, with the reason. */
const USELESS = [
  ["import.logix", ({ text }) => /^TYPE,SCOPE,NAME,|^remark,"?CSV-Import-Export|<RSLogix5000Content\b/im.test(text)],
  ["import.sunspec_xml", ({ text }) => /<sunSpecModels\b/.test(text)],
  ["import.old_excel", ({ bytes }) => startsWith(bytes, [0xd0, 0xcf, 0x11, 0xe0])],
  ["import.pdf", ({ bytes }) => startsWith(bytes, [0x25, 0x50, 0x44, 0x46])],
] as const satisfies readonly (readonly [string, (source: Source) => boolean])[];

function startsWith(bytes: Uint8Array, first: readonly number[]): boolean {
  return first.every((byte, i) => bytes[i] === byte);
}

/** Reads a file of any known format. Throws a CommandError with the reason for a format from which no tag can be made. */
export async function readSource(name: string, bytes: Uint8Array): Promise<SourceTables> {
  const source: Source = { name, bytes, text: decoded(bytes) };
  const useless = USELESS.find(([, isIt]) => isIt(source));
  if (useless !== undefined) throw new CommandError(message(useless[0], { file: name }), EXIT.usage);
  for (const { format, isLikely, load } of FORMATS) {
    if (!isLikely(source)) continue;
    if (format === "YAML" && bytes.length > MOST_YAML_BYTES)
      throw new CommandError(message("workshop.too_big", { file: name, size: MOST_YAML_BYTES / 1e6 }), EXIT.usage);
    const found = await parsed(format, await load(), source);
    if (found === null) continue;
    if (found.tables.some((table) => !isEmpty(table))) return found;
    throw new CommandError(message("import.no_points", { file: name, format: found.maker ?? format }), EXIT.usage);
  }
  if (isXml(source) || isJson(source)) throw new CommandError(message("import.unknown", { file: name }), EXIT.usage);
  return { tables: csvTables(source.text) };
}

function isEmpty(table: Table): boolean {
  const rows = table(1);
  return !("excess" in rows) && rows.length === 0;
}

/** Reads the file with a reader. Throws a CommandError if the file breaks the rules of its format. */
async function parsed(format: string, read: Reader, source: Source): Promise<SourceTables | null> {
  try {
    return await read(source);
  } catch (cause) {
    if (cause instanceof CommandError) throw cause;
    const why = errorText(cause);
    throw new CommandError(message("import.unparsable", { file: source.name, format, why }), EXIT.usage, cause);
  }
}

/**
 * Decodes the bytes of a list. Recognizes UTF-16 by its byte order mark or by zero bytes. Decodes bytes that are not UTF-8 as Windows-1252,
 * in which any bytes are valid.
 */
export function decoded(bytes: Uint8Array): string {
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || second === 0) return new TextDecoder("utf-16le").decode(bytes);
  if ((first === 0xfe && second === 0xff) || first === 0) return new TextDecoder("utf-16be").decode(bytes);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}
