/** Reads barcodes in pictures. Uses the browser's own detector if it supports all kinds of codes, or else a library that the box serves. */

/** Barcode types on nameplates: the name of each in browsers and in the library. */
const KINDS = /** @type {const} */ ({
  code_128: "Code128",
  code_39: "Code39",
  qr_code: "QRCode",
  data_matrix: "DataMatrix",
});
/** Path of the barcode library. It is loaded by path because it isn't one of the page's modules. */
const LIBRARY = "/zxing/reader/index.js";
/** Maximum number of codes read in a picture; a nameplate has one or two. */
const MOST_CODES = 8;
/**
 * Maximum width or height of a picture to read. Codes on a plate need no finer resolution, and a phone's full photograph would take
 * seconds.
 */
const MOST_PIXELS = 1_600;

/** A serial number, with the prefix that some plates add. */
const SERIAL = /^(?:S\/?N|SERIAL(?: ?N(?:O|UMBER)\.?)?)?[\s:#.]*([A-Z0-9]+(?:-[A-Z0-9]+)*)$/;
const LONGEST = 60;

/** @typedef {CanvasImageSource & { readonly width: number, readonly height: number }} Picture */
/** @typedef {(picture: CanvasImageSource, size: { width: number, height: number }) => Promise<readonly string[]>} Reader */

/**
 * Pure. Returns the texts that may be serial numbers, each once. Other texts are different codes on the plate.
 * @param {readonly string[]} texts
 */
export function serialsIn(texts) {
  const found = texts.map((text) => SERIAL.exec(text.trim().toUpperCase())?.[1] ?? "");
  return [...new Set(found)].filter((serial) => serial !== "" && serial.length <= LONGEST);
}

/** Returns a function that reads the texts of all codes in a picture. @returns {Promise<Reader>} */
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

/**
 * Returns the browser's own detector; null if it is missing or doesn't support all kinds of codes.
 * @returns {Promise<((data: ImageData) => Promise<readonly string[]>) | null>}
 */
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

/**
 * Loads the barcode library. Returns a function that reads the texts of all codes in an image.
 * @returns {Promise<(data: ImageData) => Promise<readonly string[]>>}
 */
async function libraryReader() {
  const { prepareZXingModule, readBarcodes } = await import(LIBRARY);
  // Loads the library's WebAssembly from the box. By default, the library would load it from a host on the internet.
  const overrides = { locateFile: (/** @type {string} */ name) => `/zxing/reader/${name}` };
  await prepareZXingModule({ overrides, fireImmediately: true });
  const options = { formats: Object.values(KINDS), tryHarder: true, maxNumberOfSymbols: MOST_CODES };
  return async (data) =>
    (await readBarcodes(data, options))
      .filter((/** @type {{ isValid: boolean }} */ { isValid }) => isValid)
      .map((/** @type {{ text: string }} */ { text }) => text);
}
