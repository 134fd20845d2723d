import { X509Certificate } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { loadConfig } from "../config/config.ts";
import type { Config } from "../config/port.ts";
import { configPath } from "../tools/agent-client.ts";
import { CommandError, EXIT, type Run } from "../tools/command.ts";
import { nameOnSite, typedAddresses } from "../tools/own-addresses.ts";
import { qrModules, qrText } from "../tools/qr-code.ts";
import { linesText } from "../tools/texts.ts";
import { textOption } from "../tools/options.ts";
import { print } from "../tools/print.ts";
import { errorMessage } from "../domain/error-message.ts";

/** The texts of a label for the box, which helps a phone find the page. */
export interface Label {
  /** The URL in the QR code. */
  readonly url: string;
  /** The page's URLs, one for each address of this machine. */
  readonly addresses: readonly string[];
  /** The machine's mDNS name; null if no mDNS responder is running. */
  readonly mdns: string | null;
  /** The PIN in groups of four digits; null if no PIN file is configured. */
  readonly pin: string | null;
  /** The SHA-256 of the page's certificate; null if the page was never open on the network, so it has no certificate. */
  readonly fingerprint: string | null;
  readonly words: readonly string[];
}

/** The socket of Avahi, Debian's mDNS responder. It exists while Avahi is running. */
const RESPONDER = "/run/avahi-daemon/socket";

/** Runs `booth-gateway label`: shows the page's address, PIN and certificate, as a label to print. */
export const labelCommand: Run = async (call) => {
  const { values } = call;
  const label = labelOf(loadConfig(configPath(values)), {
    addresses: typedAddresses(),
    name: existsSync(RESPONDER) ? nameOnSite() : null,
  });
  const file = textOption(values, "svg");
  if (file !== undefined) writePicture(file, labelSvg(label));
  print(call, label, (shown) => `${labelText(shown)}${file === undefined ? "" : `the label is in ${file}\n`}`);
  return Promise.resolve(EXIT.ok);
};

/** Returns the texts of a box's label. Throws a CommandError if the box has no address, or if its PIN can't be read. */
export function labelOf(
  { page, data_dir }: Pick<Config, "page" | "data_dir">,
  { addresses, name }: { readonly addresses: readonly string[]; readonly name: string | null },
): Label {
  const { lan_port, pin_file } = page;
  if (lan_port === 0)
    throw new CommandError("page.lan_port is 0, any free port: a label needs a fixed one", EXIT.config);
  const urls = [...(name === null ? [] : [name]), ...addresses].map((host) => `https://${host}:${lan_port}/`);
  const [url] = urls;
  if (url === undefined) {
    throw new CommandError("the gateway has no network connection: connect it, then print the label");
  }
  const pin = pin_file === undefined ? null : read(pin_file);
  if (pin_file !== undefined && pin === null) {
    throw new CommandError(
      `${pin_file} isn't there: put a PIN of 8 digits or more into it, mode 0600, or take page.pin_file away`,
    );
  }
  const pem = read(join(data_dir, "page", "own.pem"));
  const fingerprint = pem === null ? null : new X509Certificate(pem).fingerprint256;
  return {
    url,
    addresses: urls,
    mdns: name,
    pin: pin === null ? null : inGroups(pin),
    fingerprint,
    words: fingerprint === null ? [] : fingerprintWords(fingerprint),
  };
}

/** Reads a file; null if the file doesn't exist. Throws a CommandError if the file can't be read. */
function read(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const reason = error instanceof Error && "code" in error ? String(error.code) : String(error);
    if (reason === "ENOENT") return null;
    const advice = reason === "EACCES" ? ": run it as root" : "";
    throw new CommandError(`${file} can't be read (${reason})${advice}`);
  }
}

function inGroups(pin: string): string {
  return pin.replace(/\D/g, "").replace(/(\d{4})(?=\d)/g, "$1 ");
}

function labelText({ url, addresses, pin, fingerprint, words }: Label): string {
  return linesText([
    qrText(url),
    ...addresses.map((address) => `address      ${address}`),
    pin === null
      ? 'PIN          none set beforehand (page.pin_file): "booth-gateway page --for 30m" makes one'
      : `PIN          ${pin}`,
    fingerprint === null ? "certificate  none yet: it is made when the page is first opened on the network" : null,
    words.length === 0 ? null : `certificate  ${words.join(" ")}`,
    fingerprint === null ? null : `             ${fingerprint}`,
  ]);
}

/** The maximum number of addresses in the picture. The text shows all addresses. */
const MOST_ADDRESSES = 3;
/** The number of words on a line of the picture. */
const WORDS_A_LINE = 4;

/** Letter sizes in modules of the QR code. The PIN is the largest text, because people type it. */
const PIN_SIZE = 7;
const TEXT_SIZE = 3.5;
/** Width and line height of a monospace letter, as shares of its size. They are rounded up so that no printer's font is cut off. */
const LETTER_WIDTH = 0.65;
const LINE_HEIGHT = 1.4;

/** Returns the label as an SVG for a label printer: the QR code, and to its right PIN, addresses and words. */
export function labelSvg({ url, addresses, pin, words }: Label): string {
  const modules = qrModules(url);
  const side = modules.length;
  const lines = [
    ...(pin === null ? [] : [{ text: `PIN ${pin}`, size: PIN_SIZE }]),
    ...[
      ...addresses.slice(0, MOST_ADDRESSES),
      ...words.flatMap((_, at) => (at % WORDS_A_LINE === 0 ? [words.slice(at, at + WORDS_A_LINE).join(" ")] : [])),
    ].map((text) => ({ text, size: TEXT_SIZE })),
  ];
  const width = Math.ceil(side + Math.max(...lines.map(({ text, size }) => text.length * size * LETTER_WIDTH)));
  const textHeight = lines.reduce((sum, { size }) => sum + size * LINE_HEIGHT, 0);
  const height = Math.ceil(Math.max(side, textHeight));
  const code = modules.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : ""))).join("");
  let bottom = (height - textHeight) / 2;
  const texts = lines.map(({ text, size }) => {
    bottom += size * LINE_HEIGHT;
    const baseline = (bottom - size * (LINE_HEIGHT - 1)).toFixed(2);
    return `<text x="${side}" y="${baseline}" font-size="${size}">${text}</text>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="monospace">`,
    `<rect width="${width}" height="${height}" fill="white"/>`,
    `<path d="${code}"/>`,
    ...texts,
    "</svg>\n",
  ].join("\n");
}

function writePicture(file: string, picture: string): void {
  try {
    writeFileSync(file, picture);
  } catch (error) {
    throw new CommandError(`${file} can't be written: ${errorMessage(error)}`);
  }
}

/** The number of words, one per byte. Eight bytes (64 bits) are too many for anyone to forge a certificate with the same words. */
const WORDS = 8;

/** A word for each value of a byte. No two words start with the same four letters. */
const OF_A_BYTE = `
acorn actor album alley amber angle ankle apple apron arena argue arrow atlas attic aunt autumn
bacon badge baker bamboo banjo barn basil beach beard berry bicycle birch biscuit blanket boat bonfire
border bottle bowl bread breeze brick bridge broom brush bucket bugle butter cabin cactus camel camp
candle canoe captain carpet castle cave cedar cello cement chair cheese cherry chess chimney circus citrus
clay cliff clock cloud clover coal coffee comb compass copper coral cork cotton cousin crane creek
crown cruise crystal cupboard curtain cushion daisy dance dawn deer denim desert desk diamond dinner dolphin
donkey door dragon drum duck dune eagle earth east easel echo edge eggs elbow elephant elm
engine evening fabric falcon family farm feather fence ferry field finger fire flag flour flute fog
forest fork fossil fountain fox frame frog fruit garden garlic gate ginger giraffe glass glove goat
gold goose grape gravel green guitar hammer harbor harp hat hawk hazel heart hedge helmet herb
hill honey hook horse hotel house igloo ink iron island ivory ivy jacket jaguar jam jar
jelly jewel judge jungle kettle key king kitchen kite ladder lake lamp lantern leaf lemon library
lily lion lizard lobster lock lunch magnet maple marble market meadow melon metal milk mirror monkey
moon moss motor mountain museum mushroom nail needle nest night nose oak oasis ocean olive onion
opera orange orchard otter oven owl oyster paint palace panda paper parrot peach pearl pencil penguin
pepper piano pigeon pillow pine planet plum pocket pony potato pumpkin puzzle queen quilt rabbit radio
`
  .trim()
  .split(/\s+/);

/** Returns the words of a SHA-256 fingerprint (hexadecimal pairs): one word for each of its first eight bytes. */
export function fingerprintWords(fingerprint: string): readonly string[] {
  const bytes = fingerprint.match(/[0-9a-f]{2}/gi)?.slice(0, WORDS) ?? [];
  return bytes.map((byte) => OF_A_BYTE[Number.parseInt(byte, 16)] ?? "");
}
