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

/** On the box's own network an answer takes some milliseconds, from a busy PLC longer. */
const ANSWERS_WITHIN_MS = 500;
/** Addresses asked at the same time: switches of machine networks are small. */
const AT_ONCE = 32;
const SERIAL_TIMES = { connect_ms: 1_000, answer_ms: 400 } as const;
/** Settings that devices are delivered with, the most usual first. */
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
  /** The texts of the unit's identification. */
  readonly said: readonly string[];
}

interface SearchedSubnets {
  readonly where: "subnets";
  readonly subnets: readonly string[];
  /** The number of addresses that were asked. */
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

/** The networks and serial lines in which PLCs can be searched for. */
export function nearby() {
  return { subnets: subnetsHere().map(({ cidr, hosts }) => ({ cidr, hosts: hosts.length })), lines: serialLines() };
}

/** Searches for PLCs by opening connections and reading. Rejects with an error that a person can act on. */
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

/** The serial lines that this user may open, by names that stay with an adapter if there are such names. */
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
      return false; // it can't be set up without the right to open it
    }
  });
}

/** Asks every address whether something listens at the ports of PLCs. */
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
      io.progress(message("find.looked", { looked, total, found: found.length }));
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

/** Returns the value for a failed link and throws anything else. */
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

/** Finds the first settings with which units answer: a line has one speed. */
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
