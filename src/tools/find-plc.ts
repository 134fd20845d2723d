import { accessSync, constants, existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { OpcuaOffer, PlcTools } from "../acquisition/port.ts";
import type { SerialSettings } from "../config/port.ts";
import type { BodyOf } from "../contract/local.ts";
import { LinkError } from "../domain/link-error.ts";
import { message } from "../domain/message.ts";
import { MODBUS_PORT } from "../domain/plc-address.ts";
import type { Io } from "./command.ts";
import { tableOf, typedAddresses } from "./own-addresses.ts";
import { connectedTo } from "./plc-tools.ts";
import { ownSubnets, type Subnet } from "./rules/subnets.ts";
import { OPCUA_PORT } from "./rules/usual.ts";

/** The time limit of an address. On the box's own network a PLC answers within milliseconds, a busy PLC later. */
const ANSWERS_WITHIN_MS = 500;
/** The number of addresses that are tried at the same time, few because the switches of machine networks are small. */
const AT_ONCE = 32;
const SERIAL_TIMES = { connect_ms: 1_000, answer_ms: 400 } as const;
/** Factory settings of serial devices, the most usual first. */
const SERIAL_SETTINGS = [
  [19_200, "even"],
  [9_600, "none"],
  [9_600, "even"],
  [19_200, "none"],
  [38_400, "even"],
  [38_400, "none"],
  [115_200, "none"],
] as const;
const SERIAL_UNITS = [1, 2, 3] as const;

interface FoundHost {
  readonly host: string;
  readonly port: number;
  readonly protocol: "modbus" | "opcua";
}

interface FoundLine {
  readonly serial: SerialSettings;
  readonly unit_id: number;
  /** The texts of the unit's identification, e.g. maker and model. */
  readonly said: readonly string[];
}

interface SearchedSubnets {
  readonly where: "subnets";
  readonly subnets: readonly string[];
  /** The number of addresses that were tried. */
  readonly looked: number;
  readonly found: readonly FoundHost[];
}

interface SearchedLines {
  readonly where: "serial";
  readonly lines: readonly string[];
  readonly found: readonly FoundLine[];
}

export type Looked =
  | SearchedSubnets
  | SearchedLines
  | { readonly where: "opcua"; readonly endpoint: string; readonly offers: readonly OpcuaOffer[] };

type SearchIo = Pick<Io, "signal" | "progress">;

/** Lists the networks and serial lines in which PLCs can be searched for. */
export function nearby() {
  return { subnets: subnetsHere().map(({ cidr, hosts }) => ({ cidr, hosts: hosts.length })), lines: serialLines() };
}

/** Searches for PLCs by opening connections and reading. Rejects with an error that tells the user what to do. */
export async function findPlcs(
  tools: PlcTools,
  wish: BodyOf<"set_up_find">,
  io: SearchIo,
): Promise<{ readonly answer: Looked; readonly text: string }> {
  try {
    if (wish.where === "subnets") {
      const answer = await lookThrough(tools, subnetsHere(), io);
      return { answer, text: subnetsText(answer) };
    }
    if (wish.where === "serial") {
      const answer = await lookOnLines(tools, wish.path, io);
      return { answer, text: linesText(answer) };
    }
    const { endpoint } = wish;
    io.progress(message("find.asking", { endpoint }));
    const offers = await tools.opcuaOffers(endpoint, io.signal);
    const texts = offers.map(
      ({ policy, name, fingerprint }) => `  ${policy}  ${name}  SHA-256 ${fingerprint ?? "none"}\n`,
    );
    const text = offers.length === 0 ? `${endpoint} offers no usable endpoint\n` : texts.join("");
    return { answer: { where: "opcua", endpoint, offers }, text };
  } finally {
    io.progress("");
  }
}

function subnetsHere(): readonly Subnet[] {
  return ownSubnets(tableOf("/proc/net/route"), typedAddresses());
}

/** Lists the serial lines that this user may open, if possible by the names that stay with an adapter. */
function serialLines(): readonly string[] {
  const stable = "/dev/serial/by-id";
  const named = existsSync(stable) ? readdirSync(stable).map((name) => join(stable, name)) : [];
  const others = readdirSync("/dev")
    .filter((name) => /^tty(?:USB|ACM|AMA|SC|mxc|O)\d+$/.test(name))
    .map((name) => join("/dev", name));
  return (named.length > 0 ? named : others).toSorted().filter((path) => {
    try {
      accessSync(path, constants.R_OK | constants.W_OK);
      return true;
    } catch {
      return false; // a line can only be set up with the right to open it
    }
  });
}

/** Tries every address and checks whether a device listens on the ports of PLCs. */
export async function lookThrough(tools: PlcTools, subnets: readonly Subnet[], io: SearchIo): Promise<SearchedSubnets> {
  const waiting = subnets.flatMap(({ hosts }) => hosts);
  const total = waiting.length;
  const found: FoundHost[] = [];
  let looked = 0;
  const worker = async (): Promise<void> => {
    for (let host = waiting.shift(); host !== undefined; host = waiting.shift()) {
      io.signal.throwIfAborted();
      found.push(...(await atHost(tools, host)));
      looked += 1;
      io.progress(message("find.looked", { looked, total, found: found.length }), looked / total);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  const sorted = found.toSorted((a, b) => a.host.localeCompare(b.host, "en", { numeric: true }) || a.port - b.port);
  return { where: "subnets", subnets: subnets.map(({ cidr }) => cidr), looked, found: sorted };
}

async function atHost(tools: PlcTools, host: string): Promise<readonly FoundHost[]> {
  const times = { connect_ms: ANSWERS_WITHIN_MS, answer_ms: ANSWERS_WITHIN_MS };
  const connection = tools.connect({ host, port: MODBUS_PORT }, times);
  const [modbus, opcua] = await Promise.all([
    connectedTo(connection, () => Promise.resolve(true)).catch(noLink(false)),
    tools.greetsOpcua({ host, port: OPCUA_PORT }, ANSWERS_WITHIN_MS),
  ]);
  return [
    ...(modbus ? [{ host, port: MODBUS_PORT, protocol: "modbus" as const }] : []),
    ...(opcua ? [{ host, port: OPCUA_PORT, protocol: "opcua" as const }] : []),
  ];
}

/** Returns an error handler: it returns the value for a failed link and throws any other error. */
function noLink<T>(value: T): (error: unknown) => T {
  return (error) => {
    if (error instanceof LinkError) return value;
    throw error;
  };
}

async function lookOnLines(tools: PlcTools, path: string | undefined, io: SearchIo): Promise<SearchedLines> {
  const lines = serialLines().filter((line) => path === undefined || line === path);
  const found: FoundLine[] = [];
  for (const line of lines) found.push(...(await lookOnLine(tools, line, io)));
  return { where: "serial", lines, found };
}

/** Tries the usual settings in turn and returns the units that answer with the first settings that work: a line has a single speed. */
async function lookOnLine(tools: PlcTools, path: string, io: SearchIo): Promise<readonly FoundLine[]> {
  for (const [baud_rate, parity] of SERIAL_SETTINGS) {
    const serial: SerialSettings = { path, baud_rate, parity, data_bits: 8, stop_bits: 1 };
    const found: FoundLine[] = [];
    for (const unit_id of SERIAL_UNITS) {
      io.signal.throwIfAborted();
      io.progress(message("find.on_line", { path, baud_rate: String(baud_rate), parity, unit_id }));
      const said = await connectedTo(tools.connect({ serial }, SERIAL_TIMES), async (connection) => {
        await connection.registers(unit_id, { table: "holding", address: 0, count: 1 });
        const objects = await connection.identify(unit_id).catch(noLink(null));
        return (objects ?? []).flatMap(({ text }) => (text === "" ? [] : [text]));
      }).catch(noLink(null));
      if (said !== null) found.push({ serial, unit_id, said });
    }
    if (found.length > 0) return found;
  }
  return [];
}

function subnetsText({ looked, subnets, found }: SearchedSubnets): string {
  const where = `${looked} addresses of ${subnets.join(", ") || "no network"}`;
  const lines = found.map(({ host, port, protocol }) => `  ${host}:${port}  ${protocol}\n`).join("");
  return `${where}: ${found.length === 0 ? "no PLC answers" : "PLCs found"}\n${lines}`;
}

function linesText({ lines, found }: SearchedLines): string {
  if (lines.length === 0) return "The gateway has no serial line that the agent may open.\n";
  if (found.length === 0)
    return `No device answers on ${lines.join(", ")}; check wiring, power, baud rate and unit ID.\n`;
  const texts = found.map(
    ({ serial: { path, baud_rate, parity }, unit_id, said }) =>
      `  ${path}  ${baud_rate} baud, parity ${parity}, unit ID ${unit_id}  ${said.join(" ")}\n`,
  );
  return texts.join("");
}
