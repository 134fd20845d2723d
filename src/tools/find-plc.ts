import { accessSync, constants, existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { DeviceObject, OpcuaOffer, PlcTools } from "../acquisition/port.ts";
import type { SerialSettings } from "../config/port.ts";
import type { BodyOf } from "../contract/local.ts";
import { LinkError } from "../domain/link-error.ts";
import { MODBUS_PORT } from "../domain/plc-address.ts";
import { tableOf, typedAddresses } from "./own-addresses.ts";
import { ownSubnets, type Subnet } from "./rules/subnets.ts";
import { OPCUA_PORT } from "./rules/usual.ts";

/** On one's own network an answer takes some ms; a PLC that is busy takes longer. */
const ANSWERS_WITHIN_MS = 500;
/** Addresses asked at once: switches of machine networks are small. */
const AT_ONCE = 32;
const SERIAL_TIMES = { connect_ms: 1_000, answer_ms: 400 } as const;
/** What devices are delivered with, the usual first. */
const SERIAL_WAYS = [
  [19_200, "even"],
  [9_600, "none"],
  [9_600, "even"],
  [19_200, "none"],
  [38_400, "even"],
  [38_400, "none"],
  [115_200, "none"],
] as const;
const SERIAL_UNITS = [1, 2, 3] as const;

export type Looked =
  | {
      readonly where: "subnets";
      readonly subnets: readonly string[];
      readonly looked: number;
      readonly found: readonly FoundHost[];
    }
  | { readonly where: "serial"; readonly lines: readonly string[]; readonly found: readonly FoundLine[] }
  | { readonly where: "opcua"; readonly endpoint: string; readonly offers: readonly OpcuaOffer[] };

interface FoundHost {
  readonly host: string;
  readonly port: number;
  readonly protocol: "modbus" | "opcua";
}

interface FoundLine {
  readonly serial: SerialSettings;
  readonly unit_id: number;
  readonly said: readonly string[];
}

interface Io {
  readonly signal: AbortSignal;
  progress(text: string): void;
}

/** Where PLCs may be looked for. */
export function nearby(): {
  readonly subnets: readonly { readonly cidr: string; readonly hosts: number }[];
  readonly lines: readonly string[];
} {
  return { subnets: subnetsHere().map(({ cidr, hosts }) => ({ cidr, hosts: hosts.length })), lines: serialLines() };
}

/** Looks where it is told to; only opens connections and reads. Rejects with what a person can do about it. */
export async function findPlcs(
  tools: PlcTools,
  wish: BodyOf<"set_up_find">,
  io: Io,
): Promise<{ readonly answer: Looked; readonly text: string }> {
  const answer = await looked(tools, wish, io).finally(() => io.progress(""));
  return { answer, text: lookedText(answer) };
}

async function looked(tools: PlcTools, wish: BodyOf<"set_up_find">, io: Io): Promise<Looked> {
  switch (wish.where) {
    case "subnets":
      return lookThrough(tools, subnetsHere(), io);
    case "serial": {
      const lines = serialLines().filter((line) => wish.path === undefined || line === wish.path);
      const found: FoundLine[] = [];
      for (const path of lines) found.push(...(await onLine(tools, path, io)));
      return { where: "serial", lines, found };
    }
    case "opcua": {
      io.progress(`asking ${wish.endpoint} what it offers`);
      return { where: "opcua", endpoint: wish.endpoint, offers: await tools.opcuaOffers(wish.endpoint, io.signal) };
    }
  }
}

function subnetsHere(): readonly Subnet[] {
  return ownSubnets(tableOf("/proc/net/route"), typedAddresses());
}

/** By names that stay with an adapter where there are such. */
function serialLines(): readonly string[] {
  const stable = "/dev/serial/by-id";
  const named = existsSync(stable) ? readdirSync(stable).map((name) => join(stable, name)) : [];
  const others = readdirSync("/dev")
    .filter((name) => /^tty(?:USB|ACM|AMA|SC|mxc|O)\d+$/.test(name))
    .map((name) => join("/dev", name));
  return [...named, ...(named.length > 0 ? [] : others)].toSorted().filter(mayOpen);
}

function mayOpen(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return true;
  } catch {
    return false; // nobody can set that line up from here
  }
}

/** Asks every address whether something listens where PLCs do. */
export async function lookThrough(tools: PlcTools, subnets: readonly Subnet[], io: Io): Promise<Looked> {
  const waiting = subnets.flatMap(({ hosts }) => hosts);
  const total = waiting.length;
  const found: FoundHost[] = [];
  let looked = 0;
  const worker = async (): Promise<void> => {
    for (let host = waiting.shift(); host !== undefined; host = waiting.shift()) {
      io.signal.throwIfAborted();
      found.push(...(await atHost(tools, host)));
      looked += 1;
      io.progress(`${looked} of ${total} addresses, ${found.length} found`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return { where: "subnets", subnets: subnets.map(({ cidr }) => cidr), looked, found: found.toSorted(byAddress) };
}

async function atHost(tools: PlcTools, host: string): Promise<readonly FoundHost[]> {
  const [modbus, opcua] = await Promise.all([
    listens(tools, host),
    tools.greetsOpcua({ host, port: OPCUA_PORT }, ANSWERS_WITHIN_MS),
  ]);
  return [
    ...(modbus ? [{ host, port: MODBUS_PORT, protocol: "modbus" as const }] : []),
    ...(opcua ? [{ host, port: OPCUA_PORT, protocol: "opcua" as const }] : []),
  ];
}

async function listens(tools: PlcTools, host: string): Promise<boolean> {
  const connection = tools.connect(
    { host, port: MODBUS_PORT },
    { connect_ms: ANSWERS_WITHIN_MS, answer_ms: ANSWERS_WITHIN_MS },
  );
  return connection
    .open()
    .then(() => true, noLink(false))
    .finally(() => connection.close());
}

function byAddress(a: FoundHost, b: FoundHost): number {
  return a.host.localeCompare(b.host, "en", { numeric: true }) || a.port - b.port;
}

/** What a link's failure means here; anything else is thrown. */
function noLink<T>(value: T): (error: unknown) => T {
  return (error) => {
    if (error instanceof LinkError) return value;
    throw error;
  };
}

/** The first way in which a unit answers; a line has one speed. */
async function onLine(tools: PlcTools, path: string, io: Io): Promise<readonly FoundLine[]> {
  for (const [baud_rate, parity] of SERIAL_WAYS) {
    const serial: SerialSettings = { path, baud_rate, parity, data_bits: 8, stop_bits: 1 };
    const found: FoundLine[] = [];
    for (const unit_id of SERIAL_UNITS) {
      io.signal.throwIfAborted();
      io.progress(`${path}: ${baud_rate} baud, parity ${parity}, unit id ${unit_id}`);
      const said = await unitOnLine(tools, serial, unit_id);
      if (said !== null) found.push({ serial, unit_id, said });
    }
    if (found.length > 0) return found;
  }
  return [];
}

/** What the unit says it is; null: none is there. */
async function unitOnLine(tools: PlcTools, serial: SerialSettings, unit: number): Promise<readonly string[] | null> {
  const connection = tools.connect({ serial }, SERIAL_TIMES);
  try {
    await connection.open();
    await connection.registers(unit, { table: "holding", address: 0, count: 1 });
    return textsOf(await connection.identify(unit).catch(noLink(null)));
  } catch (error) {
    return noLink(null)(error);
  } finally {
    connection.close();
  }
}

function textsOf(objects: readonly DeviceObject[] | null): readonly string[] {
  return (objects ?? []).flatMap(({ text }) => (text === "" ? [] : [text]));
}

function lookedText(looked: Looked): string {
  switch (looked.where) {
    case "subnets": {
      const where = `${looked.looked} addresses of ${looked.subnets.join(", ") || "no network"}`;
      const found = looked.found.map(({ host, port, protocol }) => `  ${host}:${port}  ${protocol}\n`).join("");
      return `${where}: ${looked.found.length === 0 ? "no PLC answers" : "these answer"}\n${found}`;
    }
    case "serial": {
      if (looked.lines.length === 0) return "This box has no serial line that the service may open.\n";
      if (looked.found.length === 0)
        return `Nobody answers on ${looked.lines.join(", ")}: check wiring, power, speed and unit id.\n`;
      return looked.found
        .map(
          ({ serial, unit_id, said }) =>
            `  ${serial.path}  ${serial.baud_rate} baud, parity ${serial.parity}, unit id ${unit_id}  ${said.join(" ")}\n`,
        )
        .join("");
    }
    case "opcua":
      return looked.offers.length === 0
        ? `${looked.endpoint} offers nothing that can be used\n`
        : looked.offers
            .map(({ policy, name, fingerprint }) => `  ${policy}  ${name}  SHA-256 ${fingerprint ?? "none"}\n`)
            .join("");
  }
}
