import { loadConfig } from "../config/config.ts";
import { findProfile } from "../config/profile.ts";
import { adviceFor, LinkError } from "../domain/link-error.ts";
import type { BoothConfig, Config, ModbusAddress } from "../config/port.ts";
import type { LinkToShare } from "../domain/shared-link.ts";
import type { Profile } from "../domain/profile.ts";
import type { Driver, WireExchange } from "../acquisition/port.ts";
import type { Milliseconds } from "../domain/units.ts";
import { configPath } from "./agent-client.ts";
import { CommandError, EXIT, type Call, type Io, type Values } from "../cli/command.ts";

/** Sees every answer, in the order they come. */
export type OnExchange = (exchange: WireExchange) => void;

/** Sees the bytes of a Modbus link: unit id and PDU, of requests as they are sent and of sound answers. */
export interface WireTap {
  asked(request: Buffer): void;
  answered(request: Buffer, answer: Buffer): void;
}

/** How a unit of a Modbus TCP device took one read: values, or an exception's code. */
export type RegisterAnswer =
  { readonly kind: "words"; readonly words: readonly number[] } | { readonly kind: "exception"; readonly code: number };

/** One object of a device's identification (Modbus function 43/14). */
export interface DeviceObject {
  readonly id: number;
  readonly text: string;
}

/** A connection of a tool's own, or the agent's, borrowed. Everything rejects with a LinkError, after which it is closed. */
export interface ToolConnection {
  open(): Promise<void>;
  registers(
    unit: number,
    block: { table: "holding" | "input"; address: number; count: number },
  ): Promise<RegisterAnswer>;
  /** null: the device doesn't tell. */
  identify(unit: number): Promise<readonly DeviceObject[] | null>;
  close(): void;
}

export interface ConnectTimes {
  readonly connect_ms: Milliseconds;
  readonly answer_ms: Milliseconds;
}

/** What the commands for technicians need of the drivers; only reads. */
export interface PlcTools {
  /** The booth's driver as the agent would make it. */
  driver(
    booth: BoothConfig,
    profile: Profile,
    more: { readonly config: Config; readonly onExchange?: OnExchange; readonly tap?: WireTap },
  ): Driver;
  /** How the planner weighs a round trip there, and the silence that the line wants. */
  lineCost(address: ModbusAddress): { readonly round_trip_registers: number; readonly silence_ms: Milliseconds };
  connect(address: ModbusAddress, times: ConnectTimes): ToolConnection;
  /** The link that the running agent lends to that device; null: the tool connects itself. */
  borrows(address: ModbusAddress): LinkToShare | null;
  /** Whether an OPC UA server answers a hello there. */
  greetsOpcua(device: { readonly host: string; readonly port: number }, within_ms: Milliseconds): Promise<boolean>;
  /** Monotonic, ms with fractions. */
  mono(): Milliseconds;
  /** Resolves after that time; rejects with the signal's reason when aborted. */
  sleep(ms: Milliseconds, signal: AbortSignal): Promise<void>;
}

/** A tool's call, with as much of a terminal as it needs to be at work without one. */
export interface ToolCall extends Pick<Call, "values" | "operands"> {
  readonly io: Pick<Io, "progress" | "signal">;
}

export interface ChosenBooth {
  readonly config: Config;
  readonly booth: BoothConfig;
  readonly profile: Profile;
}

/** The booths that are meant: the one named with --booth, else all. Throws a CommandError for a name that isn't there. */
export function chosenBooths(values: Values): readonly ChosenBooth[] {
  const config = loadConfig(configPath(values));
  const name = values["booth"];
  const booths = config.booths.filter(({ id }) => typeof name !== "string" || id === name);
  if (booths.length === 0) {
    const known = config.booths.map(({ id }) => id).join(", ");
    throw new CommandError(`there is no booth "${String(name)}" in the configuration; it has ${known}`, EXIT.usage);
  }
  return booths.map((booth) => ({ config, booth, profile: findProfile(booth.profile, config.profile_dirs) }));
}

/** The one booth that is meant. Throws a CommandError where there are several. */
export function chosenBooth(values: Values): ChosenBooth {
  const [only, ...others] = chosenBooths(values);
  if (only === undefined || others.length > 0) {
    const names = [only, ...others].map((one) => one?.booth.id).join(", ");
    throw new CommandError(`name the booth with --booth: ${names}`, EXIT.usage);
  }
  return only;
}

/** A number given as an option; undefined where it wasn't. Throws a CommandError where it is none or out of bounds. */
export function numberOption(
  values: Values,
  name: string,
  bounds: { readonly min?: number; readonly max?: number } = {},
): number | undefined {
  const text = values[name];
  if (typeof text !== "string") return undefined;
  const number = text.trim() === "" ? NaN : Number(text);
  const { min = -Infinity, max = Infinity } = bounds;
  if (Number.isFinite(number) && number >= min && number <= max) return number;
  const between = min === -Infinity ? "" : ` from ${min} ${max === Infinity ? "on" : `to ${max}`}`;
  throw new CommandError(`--${name} ${text} is not a number${between}`, EXIT.usage);
}

/** What a link's failure means to the person at the PLC, with exit code 69. */
export function unreachable(error: unknown, address: string): unknown {
  if (!(error instanceof LinkError)) return error;
  return new CommandError(`${address}: ${error.message}; ${adviceFor(error.kind)}`, EXIT.unavailable, error);
}
