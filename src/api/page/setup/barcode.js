/** Reads barcodes off pictures: by the browser's own means where it has them for each kind, else by a library that the box serves. */

/** What nameplates bear; each by its name in browsers and in the library. */
const KINDS = /** @type {const} */ ({
  code_128: "Code128",
  code_39: "Code39",
  qr_code: "QRCode",
  data_matrix: "DataMatrix",
});
/** By its path: the library is no part of the page's own code. */
const LIBRARY = "/zxing/reader/index.js";
/** A nameplate has one or two codes. */
const MOST_CODES = 8;
/** Finer than that no code on a plate is, and a phone's photograph would take seconds. */
const MOST_PIXELS = 1_600;

/** A serial number, with what some plates put before it. */
const SERIAL = /^(?:S\/?N|SERIAL(?: ?N(?:O|UMBER)\.?)?)?[\s:#.]*([A-Z0-9]+(?:-[A-Z0-9]+)*)$/;
const LONGEST = 60;

/** @typedef {CanvasImageSource & { readonly width: number, readonly height: number }} Picture */
/** @typedef {(picture: CanvasImageSource, size: { width: number, height: number }) => Promise<readonly string[]>} Reader */

/** Pure. What of the texts may be a serial number, each once; anything else on a plate is another code. @param {readonly string[]} texts */
export function serialsIn(texts) {
  const found = texts.map((text) => SERIAL.exec(text.trim().toUpperCase())?.[1] ?? "");
  return [...new Set(found)].filter((serial) => serial !== "" && serial.length <= LONGEST);
}

/** Gives the texts of all codes in a picture. @returns {Promise<Reader>} */
export async function openReader() {
  const read = (await ownReader()) ?? (await libraryReader());
  const canvas = document.createElement("canvas");
  const context = canvas.getContext("2d", { willReadFrequently: true });
  return async (picture, { width, height }) => {
    const scale = Math.min(1, MOST_PIXELS / Math.max(width, height, 1));
    canvas.width = Math.max(1, Math.round(width * scale));
    canvas.height = Math.max(1, Math.round(height * scale));
    context?.drawImage(picture, 0, 0, canvas.width, canvas.height);
    const data = context?.getImageData(0, 0, canvas.width, canvas.height);
    return data === undefined ? [] : read(data);
  };
}

/** The browser's; null: it has none, or not for all kinds. @returns {Promise<((data: ImageData) => Promise<readonly string[]>) | null>} */
async function ownReader() {
  const Detector = /** @type {any} */ (globalThis).BarcodeDetector;
  if (Detector === undefined) return null;
  const formats = Object.keys(KINDS);
  const known = await Detector.getSupportedFormats().catch(() => []);
  if (!formats.every((format) => known.includes(format))) return null;
  const detector = new Detector({ formats });
  return async (data) =>
    (await detector.detect(data)).map((/** @type {{ rawValue: string }} */ { rawValue }) => rawValue);
}

/** @returns {Promise<(data: ImageData) => Promise<readonly string[]>>} */
async function libraryReader() {
  const { prepareZXingModule, readBarcodes } = await import(LIBRARY);
  // Unless told so it loads its WebAssembly from a host of its own.
  const overrides = { locateFile: (/** @type {string} */ name) => `/zxing/reader/${name}` };
  await prepareZXingModule({ overrides, fireImmediately: true });
  const options = { formats: Object.values(KINDS), tryHarder: true, maxNumberOfSymbols: MOST_CODES };
  return async (data) =>
    (await readBarcodes(data, options))
      .filter((/** @type {{ isValid: boolean }} */ { isValid }) => isValid)
      .map((/** @type {{ text: string }} */ { text }) => text);
}
