import { strToU8, zipSync } from "fflate";

const escaped = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

function letterOf(column: number): string {
  const last = String.fromCharCode(65 + (column % 26));
  return column < 26 ? last : `${letterOf(Math.floor(column / 26) - 1)}${last}`;
}

function sheet(rows: readonly (readonly (string | number)[])[], shared: Map<string, number>): string {
  const cell = (value: string | number, at: string): string => {
    if (typeof value === "number") return `<c r="${at}"><v>${value}</v></c>`;
    if (!shared.has(value)) shared.set(value, shared.size);
    return `<c r="${at}" t="s"><v>${shared.get(value)}</v></c>`;
  };
  const lines = rows.map(
    (row, y) => `<row r="${y + 1}">${row.map((one, x) => cell(one, `${letterOf(x)}${y + 1}`)).join("")}</row>`,
  );
  return `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>${lines.join("")}</sheetData></worksheet>`;
}

const OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const PACKAGE = "http://schemas.openxmlformats.org/package/2006";

/** Returns the parts of a workbook (XLSX) with these sheets, as spreadsheet programs write them: texts are shared. */
export function workbookParts(
  sheets: Readonly<Record<string, readonly (readonly (string | number)[])[]>>,
): Record<string, Uint8Array> {
  const shared = new Map<string, number>();
  const names = Object.keys(sheets);
  const texts = Object.values(sheets).map((rows) => sheet(rows, shared));
  const relation = (id: string, kind: string, target: string): string =>
    `<Relationship Id="${id}" Type="${OFFICE}/${kind}" Target="${target}"/>`;
  const relations = (parts: readonly string[]): string =>
    `<Relationships xmlns="${PACKAGE}/relationships">${parts.join("")}</Relationships>`;
  const parts: Readonly<Record<string, string>> = {
    "[Content_Types].xml": `<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/></Types>`,
    "_rels/.rels": relations([relation("rId1", "officeDocument", "xl/workbook.xml")]),
    "xl/workbook.xml": `<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="${OFFICE}"><sheets>${names.map((name, i) => `<sheet name="${escaped(name)}" sheetId="${i + 1}" r:id="rId${i + 1}"/>`).join("")}</sheets></workbook>`,
    "xl/_rels/workbook.xml.rels": relations([
      ...names.map((_, i) => relation(`rId${i + 1}`, "worksheet", `worksheets/sheet${i + 1}.xml`)),
      relation("rId100", "sharedStrings", "sharedStrings.xml"),
    ]),
    "xl/sharedStrings.xml": `<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">${[...shared.keys()].map((text) => `<si><t>${escaped(text)}</t></si>`).join("")}</sst>`,
    ...Object.fromEntries(texts.map((text, i) => [`xl/worksheets/sheet${i + 1}.xml`, text])),
  };
  return Object.fromEntries(Object.entries(parts).map(([name, text]) => [name, strToU8(text)]));
}

/** Returns a workbook (XLSX) with these sheets. */
export function workbook(sheets: Parameters<typeof workbookParts>[0]): Uint8Array {
  return zipSync(workbookParts(sheets));
}
