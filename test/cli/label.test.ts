import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { encode } from "uqr";
import { expect, it } from "vitest";
import { fingerprintWords, type Label, labelOf, labelSvg } from "../../src/cli/label.ts";
import { qrText } from "../../src/tools/qr-code.ts";
import { terminalText } from "../../src/tools/terminal-text.ts";
import { codeOf, qrIn } from "../support/label-reader.ts";
import { temporaryFolder } from "../support/temporary.ts";

const URL_OF_BOX = "https://booth-4711.local:8443/";
const LABEL: Label = {
  url: URL_OF_BOX,
  addresses: [URL_OF_BOX, "https://10.0.0.9:8443/"],
  mdns: "booth-4711.local",

  pin: "1234 5678",
  fingerprint: "AB",
  words: ["acorn", "actor", "album", "alley", "amber", "angle", "ankle", "apple"],
};

it("labelSvg draws a readable QR code next to the PIN, the addresses and the fingerprint words", () => {
  const svg = labelSvg(LABEL);
  expect(qrIn(codeOf(svg))).toBe(URL_OF_BOX);
  const texts = [...svg.matchAll(/<text x="(\d+)" y="([\d.]+)" font-size="([\d.]+)">(.*)<\/text>/g)];
  expect(texts.map(([, , , , text]) => text)).toEqual([
    "PIN 1234 5678",
    URL_OF_BOX,
    "https://10.0.0.9:8443/",
    "acorn actor album alley",
    "amber angle ankle apple",
  ]);
  const [, width, height] = /viewBox="0 0 (\d+) (\d+)"/.exec(svg) ?? [];
  for (const [, x, y, size, text = ""] of texts) {
    expect(Number(x) + text.length * Number(size) * 0.6, text).toBeLessThan(Number(width));
    expect(Number(y) - Number(size), text).toBeGreaterThan(0);
    expect(Number(y), text).toBeLessThan(Number(height));
  }
});

it("qrText draws a readable QR code on a terminal, with two modules per character", () => {
  const lines = terminalText(qrText(URL_OF_BOX))
    .split("\n")
    .map((line) => line.replaceAll(/\u001b\[[\d;]*m/g, ""));
  const isDark = (x: number, y: number): boolean => {
    const character = lines[y >> 1]?.[x] ?? " ";
    return character === "█" || character === (y % 2 === 0 ? "▀" : "▄");
  };
  const { data } = encode(URL_OF_BOX, { border: 2 });
  expect(lines[0]).toHaveLength(data.length);
  const dots = 4;
  const size = data.length * dots;
  const light = (x: number, y: number): boolean => isDark(Math.floor(x / dots), Math.floor(y / dots));
  const found = [light, (x: number, y: number) => !light(x, y)].map((one) =>
    qrIn({ width: size, height: size, isDark: one }),
  );
  expect(found).toContain(URL_OF_BOX);
});

it("labelOf returns the addresses, the PIN from the PIN file, and the mDNS name if an mDNS responder runs", () => {
  const data_dir = temporaryFolder();
  const pin_file = join(data_dir, "page-pin");
  writeFileSync(pin_file, "12345678\n", { mode: 0o600 });
  const page = { port: 8470, lan_port: 8443, pin_file };
  const label = labelOf({ page, data_dir }, { addresses: ["10.0.0.9"], name: "booth-4711.local" });
  expect(label).toEqual({
    url: URL_OF_BOX,
    addresses: [URL_OF_BOX, "https://10.0.0.9:8443/"],
    mdns: "booth-4711.local",
    pin: "1234 5678",
    fingerprint: null,
    words: [],
  });
  expect(labelOf({ page, data_dir }, { addresses: ["10.0.0.9"], name: null }).url).toBe("https://10.0.0.9:8443/");
});

it("labelOf fails with advice if the gateway has no address, no fixed port, no readable PIN file or no readable certificate", () => {
  const data_dir = temporaryFolder();
  const page = { port: 8470, lan_port: 8443 };
  const here = { addresses: ["10.0.0.9"], name: null };
  expect(() => labelOf({ page, data_dir }, { addresses: [], name: null })).toThrow("connect it, then print the label");
  expect(() => labelOf({ page: { ...page, lan_port: 0 }, data_dir }, here)).toThrow("needs a fixed one");
  const gone = { ...page, pin_file: join(data_dir, "gone") };
  expect(() => labelOf({ page: gone, data_dir }, here)).toThrow(/gone isn't there: put a PIN of 8 digits/);
  expect(labelOf({ page, data_dir }, here).pin).toBeNull();
  // A folder instead of the certificate can't be read.
  mkdirSync(join(data_dir, "page", "own.pem"), { recursive: true });
  expect(() => labelOf({ page, data_dir }, here)).toThrow(/own\.pem can't be read \(EISDIR\)/);
});

it("fingerprintWords turns the first eight bytes of a fingerprint into words, a different word for each byte value", () => {
  const words = Array.from({ length: 256 }, (_, byte) => fingerprintWords(byte.toString(16).padStart(2, "0")).join());
  expect(new Set(words).size).toBe(256);
  expect(new Set(words.map((word) => word.slice(0, 4))).size).toBe(256);
  expect(fingerprintWords("00:01:02:03:04:05:06:07:FF")).toHaveLength(8);
  expect(fingerprintWords("00:01:02:03:04:05:06:07")[1]).toBe("actor");
});
