import type {
  BakeBody,
  BakesBody,
  BakeSensorBody,
  RecordHead,
  SheetBody,
  SheetFilterBody,
} from "../../contract/records.ts";
import { localText, type RecordLanguage, type TextName } from "./texts.ts";

/** Number of bakes up to which each one is shown with its curve. A longer list has only the table. */
const MOST_CURVES = 200;

/** Black and white, readable on Letter and A4: the printer's paper size counts. */
const STYLE = `@page { margin: 14mm 12mm; }
* { box-sizing: border-box; }
body { font: 9pt/1.35 "Liberation Sans", Arial, sans-serif; color: #000; background: #fff; margin: 0 auto; max-width: 186mm; }
h1 { font-size: 15pt; margin: 0 0 2mm; } h2 { font-size: 10.5pt; margin: 5mm 0 1mm; }
dl { display: grid; grid-template-columns: repeat(2, auto 1fr); gap: 0.5mm 3mm; margin: 0 0 3mm; }
dt { color: #000; } dd { margin: 0; font-weight: bold; }
table { border-collapse: collapse; width: 100%; } thead { display: table-header-group; }
th, td { border: 0.2mm solid #000; padding: 0.6mm 1.2mm; text-align: left; vertical-align: top; }
th { background: #eee; } td.n { text-align: right; white-space: nowrap; } td:first-child { white-space: nowrap; } tr, section, figure { break-inside: avoid; }
p { margin: 1.5mm 0; } .due { font-weight: bold; text-decoration: underline; } figure { margin: 1mm 0; }
.sign { margin-top: 12mm; border-top: 0.3mm solid #000; width: 80mm; padding-top: 1mm; }
code { font-family: "Liberation Mono", monospace; } svg { width: 100%; height: auto; }`;

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

/** A document under construction: its language, and its parts. */
interface Page extends RecordLanguage {
  readonly head: RecordHead;
  readonly digest: string;
}

function pageOf({ lang, texts, head, digest }: Page, content: string): string {
  const { document, booth, serial, customer, facility, tz, from, to, version } = head;
  const facts: readonly (readonly [TextName, string])[] = [
    ["booth", booth],
    ["serial", serial ?? "-"],
    ["customer", customer ?? "-"],
    ["facility", facility ?? "-"],
    ["period", `${from} – ${to}`],
    ["tz", tz],
    ["digest", digest],
    ["version", `booth-gateway ${version}`],
  ];
  const list = facts.map(([name, value]) => `<dt>${texts[name]}</dt><dd>${escaped(value)}</dd>`).join("");
  const title = texts[document];
  return `<!doctype html>
<html lang="${lang}"><head><meta charset="utf-8"><title>${title} ${escaped(booth)} ${from} – ${to}</title><style>${STYLE}</style></head>
<body><h1>${title}</h1><dl>${list}</dl>
${content}
<p>${texts.verify}: <code>booth-gateway records verify ${digest} --from ${from} --to ${to}</code></p>
<div class="sign">${texts.signature}</div></body></html>
`;
}

function number(value: number | null, digits = 1): string {
  return value === null ? "–" : value.toFixed(digits);
}

/** Returns a log sheet as a document. The caller puts persons' names into the elements with `data-person`. */
export function sheetHtml(body: SheetBody, language: RecordLanguage): string {
  const { texts } = language;
  const { head, digest, filters, days, changes } = body;
  const page = { ...language, head, digest };
  const columns = ["day", "use", "spray", "no_data", ...filters] as const;
  const heads = columns.map((name) => `<th>${texts[name]}</th>`).join("");
  const rows = days.map(({ day, use_minutes, spray_minutes, no_data_minutes, filters: all }) => {
    const cells = filters.map((type) => {
      const mine = all.filter(({ filter }) => filter === type);
      return `<td>${mine.map((one) => filterCell(one, language)).join("<hr>")}</td>`;
    });
    const times = [use_minutes, spray_minutes, no_data_minutes].map((one) => `<td class="n">${number(one)}</td>`);
    return `<tr><td>${day}</td>${times.join("")}${cells.join("")}</tr>`;
  });
  const table = `<table><thead><tr>${heads}</tr></thead><tbody>${rows.join("\n")}</tbody></table>`;
  const list = changes.map((one) => `<li>${changeText(one, page)}</li>`).join("\n");
  return pageOf(
    page,
    `${days.length === 0 ? `<p>${texts.empty}</p>` : table}
<p>${texts.filter_cell}. ${texts.absent_days}</p>
${changes.length === 0 ? "" : `<section><h2>${texts.change}</h2><ul>${list}</ul></section>`}`,
  );
}

function filterCell(one: SheetFilterBody, { texts }: RecordLanguage): string {
  const use = one.use_hours === null ? texts.unknown : number(one.use_hours);
  const drops =
    one.highest_pa === null
      ? texts.not_measured
      : `${number(one.highest_pa)} (${number(one.median_pa)}) / ${number(one.limit_pa)} Pa`;
  const overdue = one.overuse_since === null ? "" : ` <span class="due">${texts.overdue}</span>`;
  return `${use} / ${number(one.limit_hours)} h${overdue}<br>${one.sensor ? drops : texts.no_sensor}`;
}

function changeText(change: SheetBody["changes"][number], { texts, head }: Page): string {
  const { filter, at, source, id, part_number, note, corrected, removed_use_hours } = change;
  const before = corrected
    .map((one) => [one.part_number, one.note].filter((text) => text !== "").join(", "))
    .join("; ");
  const parts = [
    localText(at, head.tz),
    texts[filter],
    source === "plc_reset" ? texts.plc_reset : texts.entered,
    part_number === "" ? "" : `${texts.part} ${escaped(part_number)}`,
    escaped(note),
    before === "" ? "" : `${texts.corrected}: ${escaped(before)}`,
    removed_use_hours === null ? "" : `${texts.removed_use}: ${number(removed_use_hours)} h`,
  ].filter((text) => text !== "");
  const person = id === null ? "" : `<span data-person="${escaped(id)}" data-by="${texts.by}"></span>`;
  return `${parts.join("; ")}${person}`;
}

/** Returns bake records as a document: a table of all bakes, then each bake with its curve. */
export function bakesHtml(body: BakesBody, language: RecordLanguage): string {
  const { texts } = language;
  const { head, digest, bakes } = body;
  const page = { ...language, head, digest };
  const rows = bakes.map((bake) => {
    const { bay, start, end, bake_minutes, air, metal, rules } = bake;
    const verdicts = rules.map((one) => `${escaped(one.rule)}: ${verdictText(one, language)}`).join("<br>");
    const numbers = [bake_minutes, air?.peak_c ?? null, metal?.peak_c ?? null].map(
      (one) => `<td class="n">${number(one)}</td>`,
    );
    return `<tr><td>${localText(start, head.tz)}</td><td>${localText(end, head.tz).slice(11)}</td><td>${bay === 0 ? "" : bay}</td>${numbers.join("")}<td>${verdicts}</td></tr>`;
  });
  const names = [
    texts.start,
    texts.end,
    texts.bay,
    texts.bake,
    `${texts.air}: ${texts.peak}`,
    `${texts.metal}: ${texts.peak}`,
    texts.verdict,
  ];
  const heads = names.map((name) => `<th>${name}</th>`).join("");
  const table = `<table><thead><tr>${heads}</tr></thead><tbody>${rows.join("\n")}</tbody></table>`;
  const sections = bakes.length > MOST_CURVES ? [] : bakes.map((bake) => bakeSection(bake, page));
  return pageOf(page, bakes.length === 0 ? `<p>${texts.empty}</p>` : `${table}\n${sections.join("\n")}`);
}

function verdictText({ verdict, reason }: BakeBody["rules"][number], { texts }: RecordLanguage): string {
  const said = texts[verdict as "met" | "not_met" | "cannot_tell"];
  return reason === ""
    ? said
    : `${said} (${texts[`reason_${reason as "no_sensor" | "no_data" | "accuracy" | "minute"}`]})`;
}

function bakeSection(bake: BakeBody, page: Page): string {
  const { texts, head } = page;
  const { bay, start, end, bake_minutes, air, metal, rules } = bake;
  const title = `${localText(start, head.tz)} – ${localText(end, head.tz).slice(11)}${bay === 0 ? "" : `, ${texts.bay} ${bay}`}`;
  const sensors = (["air", "metal"] as const).map((name) => {
    const sensor = bake[name];
    if (sensor === null) return `${texts[name]}: ${texts.no_sensor}`;
    return `${texts[name]}: ${texts.peak} ${number(sensor.peak_c)}; ${texts.unknown_minutes} ${number(sensor.unknown_minutes)}`;
  });
  const figures = [`${texts.bake} ${number(bake_minutes)}`, ...sensors].join("; ");
  const rows = rules.map((one) => {
    const least = one.at_least_c === null ? "" : `${texts.at_least} ${one.at_least_c} °C, ${one.minutes} min`;
    const most = one.at_most_c === null ? "" : `${texts.at_most} ${one.at_most_c} °C`;
    const terms = [least, most].filter((text) => text !== "").join("; ");
    return `<tr><td>${escaped(one.rule)}</td><td>${texts[one.sensor]} ${terms}</td><td class="n">${number(one.above_minutes)}</td><td class="n">${number(one.longest_minutes)}</td><td><b>${verdictText(one, page)}</b></td></tr>`;
  });
  const heads = [texts.rule, "", texts.above, texts.longest, texts.verdict].map((name) => `<th>${name}</th>`).join("");
  const table =
    rules.length === 0 ? "" : `<table><thead><tr>${heads}</tr></thead><tbody>${rows.join("")}</tbody></table>`;
  const isBlind = air === null && metal === null;
  const deadband = Math.max(air?.deadband_c ?? 0, metal?.deadband_c ?? 0);
  const chart = isBlind
    ? `<p>${texts.mode_only}</p>`
    : `<figure>${chartOf(bake, page)}</figure><p>${texts.deadband}: ±${number(deadband, 2)} °C.</p>`;
  return `<section><h2>${title}</h2><p>${figures}</p>${chart}${table}</section>`;
}

const WIDTH = 640;
const HEIGHT = 190;
const LEFT = 34;
const BOTTOM = 168;
const TOP = 8;

/** Draws the highest temperatures over time (air dashed, metal solid), the lowest ones as thin lines, and the rules' limits. */
function chartOf({ air, metal, rules }: BakeBody, { texts }: Page): string {
  const sensors = [air, metal].filter((one) => one !== null);
  const minutes = Math.max(1, ...sensors.map(({ curve = [] }) => (curve.at(-1)?.[0] ?? 0) + 1));
  const limits = rules.flatMap(({ at_least_c, at_most_c }) => [at_least_c, at_most_c]).filter((one) => one !== null);
  const most = Math.ceil((Math.max(40, ...limits, ...sensors.map(({ peak_c }) => peak_c ?? 0)) + 5) / 10) * 10;
  const x = (minute: number): string => (LEFT + (minute / minutes) * (WIDTH - LEFT - 6)).toFixed(1);
  const y = (celsius: number): string => (BOTTOM - (Math.max(0, celsius) / most) * (BOTTOM - TOP)).toFixed(1);
  const grid = Array.from({ length: most / 10 + 1 }, (_, nth) => nth * 10)
    .filter((celsius) => celsius % 20 === 0)
    .map(
      (celsius) =>
        `<path d="M${LEFT} ${y(celsius)}H${WIDTH - 6}" stroke="#bbb" stroke-width=".5"/><text x="${LEFT - 4}" y="${y(celsius)}" text-anchor="end" dy="3">${celsius}</text>`,
    );
  const step = minutes > 120 ? 60 : minutes > 40 ? 10 : 5;
  const ticks = Array.from({ length: Math.floor(minutes / step) + 1 }, (_, nth) => nth * step).map(
    (minute) => `<text x="${x(minute)}" y="${BOTTOM + 11}" text-anchor="middle">${minute}</text>`,
  );
  const lines = limits.map(
    (celsius) =>
      `<path d="M${LEFT} ${y(celsius)}H${WIDTH - 6}" stroke="#000" stroke-width=".8" stroke-dasharray="1 3"/><text x="${WIDTH - 8}" y="${y(celsius)}" text-anchor="end" dy="-2">${celsius} °C</text>`,
  );
  const curves = [
    ...(air === null ? [] : [lineOf(air, { x, y, dash: "6 3" })]),
    ...(metal === null ? [] : [lineOf(metal, { x, y, dash: "" })]),
  ];
  const legend = `<text x="${LEFT + 4}" y="${TOP + 8}">${air === null ? "" : `- - ${texts.air}`} ${metal === null ? "" : `— ${texts.metal}`} (°C)</text>`;
  const axis = `<text x="${(LEFT + WIDTH) / 2}" y="${HEIGHT - 1}" text-anchor="middle">${texts.minutes_axis}</text>`;
  return `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="Liberation Sans, Arial, sans-serif" font-size="9">${[...grid, ...ticks, ...lines, ...curves, legend, axis].join("")}<path d="M${LEFT} ${TOP}V${BOTTOM}H${WIDTH - 6}" fill="none" stroke="#000"/></svg>`;
}

type Scale = (value: number) => string;

/** Draws a curve. A time without data is a gap in it. */
function lineOf({ curve = [] }: BakeSensorBody, { x, y, dash }: { x: Scale; y: Scale; dash: string }): string {
  const pathOf = (nth: 1 | 2): string => {
    let isDown = false;
    return curve
      .map((point) => {
        const value = point[nth];
        const text = value === null ? "" : `${isDown ? "L" : "M"}${x(point[0])} ${y(value)}`;
        isDown = value !== null;
        return text;
      })
      .join("");
  };
  return `<path d="${pathOf(2)}" fill="none" stroke="#000" stroke-width="1.6" stroke-dasharray="${dash}"/><path d="${pathOf(1)}" fill="none" stroke="#000" stroke-width=".5" stroke-dasharray="${dash}"/>`;
}

/** Puts the names of persons into a document, by the ids of filter changes. */
export function withPersons(html: string, names: ReadonlyMap<string, string>): string {
  return html.replaceAll(/<span data-person="([^"]*)" data-by="([^"]*)"><\/span>/g, (_, id: string, by: string) => {
    const name = names.get(id) ?? "";
    return name === "" ? "" : `; ${by} ${escaped(name)}`;
  });
}
