import { readFileSync } from "node:fs";
import { afterEach, expect, it, vi } from "vitest";
import { conversionOf, converted, unitOf } from "../../../src/domain/engineering-units.ts";

const PAGE = new URL("../../../src/api/page/kit/", import.meta.url);
const MESSAGES = new URL("../../../src/domain/messages/", import.meta.url);

interface Units {
  readonly inUnits: (value: number, unit: string) => { readonly value: number; readonly unit: string };
  readonly units: Readonly<Record<"temperature" | "gas" | "pressure" | "clock", string>>;
}
interface Format {
  readonly measured: (
    value: number,
    unit: string,
    digits?: number,
  ) => { readonly number: string; readonly unit: string };
  readonly clockText: (at: number, tz: string) => string;
  readonly zoneText: (at: number, tz: string) => string;
}

/** Loads the page's modules as a browser with this language and region does. */
async function inBrowser(language: string, kept: Readonly<Record<string, string>> = {}): Promise<Units & Format> {
  vi.stubGlobal("navigator", { languages: [language] });
  vi.stubGlobal("localStorage", { getItem: (name: string) => kept[name] ?? null });
  vi.stubGlobal("document", { documentElement: {} });
  // The scanner's document sends no request while it loads.
  vi.stubGlobal("location", { pathname: "/scan" });
  // The texts are files beside the modules; the gateway serves those of the agent's messages with them.
  vi.stubGlobal("fetch", (url: URL) => {
    const [, name] = /\/messages-(\w+\.json)$/.exec(url.href) ?? [];
    return Promise.resolve(new Response(readFileSync(name === undefined ? url : new URL(name, MESSAGES))));
  });
  vi.resetModules();
  const load = (name: string): Promise<object> => import(new URL(name, PAGE).href) as Promise<object>;
  return { ...(await load("units.js")), ...(await load("format.js")) } as Units & Format;
}

afterEach(() => void vi.unstubAllGlobals());

it.each([
  ["en-US", { temperature: "F", gas: "therm", pressure: "inWC", clock: "12" }],
  ["es-US", { temperature: "F", gas: "therm", pressure: "inWC", clock: "12" }],
  ["en-CA", { temperature: "C", gas: "m3", pressure: "inWC", clock: "12" }],
  ["en-GB", { temperature: "C", gas: "kWh", pressure: "Pa", clock: "24" }],
  ["de-DE", { temperature: "C", gas: "kWh", pressure: "Pa", clock: "24" }],
  ["es-MX", { temperature: "C", gas: "m3", pressure: "Pa" }],
  ["es-ES", { temperature: "C", gas: "kWh", pressure: "Pa", clock: "24" }],
])("the web page uses the units of the browser's region for %s", async (language, wanted) => {
  expect((await inBrowser(language)).units).toMatchObject(wanted);
});

it("the web page uses units chosen on the device instead of the region's, and ignores an unknown choice or damaged JSON", async () => {
  const chosen = { units: JSON.stringify({ temperature: "F", gas: "coal", clock: "12" }) };
  const { units, clockText } = await inBrowser("de-DE", chosen);
  expect(units).toEqual({ temperature: "F", gas: "kWh", pressure: "Pa", clock: "12" });
  expect(clockText(Date.UTC(2026, 2, 2, 13, 5), "UTC")).toMatch(/^1:05.PM$/);
  expect((await inBrowser("de-DE", { units: "{" })).units.temperature).toBe("C");
});

it.each([
  { language: "en-US", box: [20, "C", 1], shown: ["68.0", "°F"] },
  { language: "de-DE", box: [20, "C", 1], shown: ["20,0", "°C"] },
  { language: "de-DE", box: [68, "F", 1], shown: ["20,0", "°C"] },
  { language: "de-DE", box: [10, "therm", 0], shown: ["293", "kWh"] },
  { language: "es-MX", box: [10, "therm", 1], shown: ["27.5", "m³"] },
  { language: "en-US", box: [25, "Pa", 1], shown: ["0.100", "inWC"] },
  { language: "de-DE", box: [0.1, "inWC", 1], shown: ["24,9", "Pa"] },
  { language: "en-US", box: [12, "kWh", 1], shown: ["12.0", "kWh"] },
  { language: "en-US", box: [3.5, "A", 1], shown: ["3.5", "A"] },
] as const)(
  "the web page in $language shows $box (value, unit, digits) as $shown",
  async ({ language, box: [value, unit, digits], shown }) => {
    const { number, unit: by } = (await inBrowser(language)).measured(value, unit, digits);
    expect([number, by]).toEqual(shown);
  },
);

it("zoneText names a time zone in the page's language, or by its city if the language has no name for it", async () => {
  const march = Date.UTC(2026, 2, 2);
  expect((await inBrowser("en-US")).zoneText(march, "America/Denver")).toBe("MST");
  expect((await inBrowser("de-DE")).zoneText(march, "Europe/Berlin")).toBe("MEZ");
  expect((await inBrowser("de-DE")).zoneText(march, "America/Denver")).toBe("Denver (GMT-7)");
});

it.each([
  ["C", "F", { temperature: "F" }],
  ["F", "C", { temperature: "C" }],
  ["therm", "kWh", { gas: "kWh" }],
  ["Pa", "inWC", { pressure: "inWC" }],
  ["inWC", "Pa", { pressure: "Pa" }],
])("the web page converts %s to %s as the gateway's table of units does", async (from, to, choices) => {
  const { inUnits } = await inBrowser("en-GB", { units: JSON.stringify(choices) });
  const source = unitOf(from);
  const target = unitOf(to);
  const conversion = source === undefined || target === undefined ? undefined : conversionOf(source, target);
  const expected = conversion === undefined ? NaN : converted(100, conversion);
  const shown = inUnits(100, from);
  expect(shown.unit).toBe(to);
  expect(shown.value / expected).toBeCloseTo(1, 5);
});
