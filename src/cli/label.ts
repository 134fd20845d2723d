import { X509Certificate } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { crc32, deflateSync } from "node:zlib";
import { encode, renderUnicodeCompact } from "uqr";
import { loadConfig } from "../config/config.ts";
import type { Config } from "../config/port.ts";
import { configPath } from "../tools/agent-client.ts";
import { CommandError, EXIT, type Run } from "../tools/command.ts";
import { fingerprintWords } from "../tools/fingerprint-words.ts";
import { typedAddresses } from "../tools/own-addresses.ts";
import { linesText } from "../tools/texts.ts";
import { textOption } from "./options.ts";
import { print } from "./print.ts";

/** What is stuck on a box, so that a phone finds its page. */
export interface Label {
  /** What the QR code holds. */
  readonly url: string;
  /** By each address that this machine has now; its name alone where it has a responder for such names. */
  readonly addresses: readonly string[];
  /** null: nothing on this machine answers to it. */
  readonly mdns: string | null;
  /** In groups of four digits; null: none was set beforehand. */
  readonly pin: string | null;
  /** Of the page's certificate; null: the page hasn't been opened on the network yet, and has none. */
  readonly fingerprint: string | null;
  readonly words: readonly string[];
}

/** Avahi, the responder of Debian, is there while it runs. */
const RESPONDER = "/run/avahi-daemon/socket";

/** `booth-gateway label`: address, PIN and certificate of this box's page, to be printed and stuck on it. */
export const labelCommand: Run = async (call) => {
  const { values } = call;
  const label = labelOf(loadConfig(configPath(values)), { addresses: typedAddresses(), name: nameOnSite() });
  const file = textOption(values, "png");
  if (file !== undefined) writePicture(file, label.url);
  print(call, label, (shown) => `${labelText(shown)}${file === undefined ? "" : `the code is in ${file}\n`}`);
  return Promise.resolve(EXIT.ok);
};

/** The name by which others on the same network find this machine; null: none. */
function nameOnSite(): string | null {
  return existsSync(RESPONDER) ? `${hostname().split(".")[0] ?? ""}.local` : null;
}

/** Throws a CommandError where the box has no address to show, or its PIN can't be read. */
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
    throw new CommandError("this box has no network besides its own loopback: connect it, then print its label");
  }
  const pem = join(data_dir, "page", "own.pem");
  const fingerprint = existsSync(pem) ? new X509Certificate(read(pem)).fingerprint256 : null;
  return {
    ...{ url, addresses: urls, mdns: name },
    pin: pin_file === undefined ? null : inGroups(read(pin_file)),
    ...{ fingerprint, words: fingerprint === null ? [] : fingerprintWords(fingerprint) },
  };
}

function read(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const reason = error instanceof Error && "code" in error ? String(error.code) : String(error);
    const advice = reason === "EACCES" ? "run it as root" : "see page.pin_file in the configuration";
    throw new CommandError(`${file} can't be read (${reason}): ${advice}`);
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

/** Quiet modules around a code, on each side (ISO/IEC 18004 asks for four). */
const QUIET = 4;

/** A QR code for a terminal, dark on light whatever the terminal's colours are. */
export function qrText(text: string): string {
  const lines = renderUnicodeCompact(text, { border: 2 }).split("\n");
  return lines.map((line) => `\u001b[30;107m${line}\u001b[0m`).join("\n");
}

const DOT = 8;

function writePicture(file: string, text: string): void {
  try {
    writeFileSync(file, qrPng(text));
  } catch (error) {
    throw new CommandError(`${file} can't be written: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** A QR code as a PNG of one bit a pixel. */
export function qrPng(text: string): Buffer {
  const { data } = encode(text, { border: QUIET });
  const size = data.length * DOT;
  const rows = data.flatMap((modules) => {
    const row = Buffer.alloc(1 + Math.ceil(size / 8));
    // Eight pixels of a module are one byte; white is 1.
    modules.forEach((isDark, at) => (row[1 + at] = isDark ? 0x00 : 0xff));
    return Array.from({ length: DOT }, () => row);
  });
  const head = Buffer.alloc(13);
  head.writeUInt32BE(size, 0);
  head.writeUInt32BE(size, 4);
  head[8] = 1; // bits a pixel, grey; the rest are zeros
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([
    signature,
    piece("IHDR", head),
    piece("IDAT", deflateSync(Buffer.concat(rows))),
    piece("IEND", Buffer.alloc(0)),
  ]);
}

function piece(type: string, body: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, "latin1"), body]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(body.length);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
}
