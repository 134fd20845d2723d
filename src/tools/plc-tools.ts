import { existsSync } from "node:fs";
import { ConfigError } from "../config/config-error.ts";
import { loadConfig, parseConfig } from "../config/config.ts";
import type { BoothConfig, BoothLink, Config, ModbusAddress, ModbusConfig } from "../config/port.ts";
import { findProfile } from "../config/profile.ts";
import { localPlcAnswerShape, localPlcLinksShape } from "../contract/local.ts";
import { adviceFor, LinkError } from "../domain/link-error.ts";
import { message } from "../domain/message.ts";
import { errorText } from "../domain/messages/message-error.ts";
import type { PlcTools, ToolConnection } from "../acquisition/port.ts";
import { MODBUS_PORT, modbusAddressText } from "../domain/plc-address.ts";
import { groupsInForce, type Profile, type ProfileTag, tagsOfGroup } from "../domain/profile.ts";
import type { LinkSharer, PlcAsk } from "../domain/agent-control.ts";
import { type Agent, agentOf, configPath } from "./agent-client.ts";
import { type Call, CommandError, EXIT, type Io, type Values } from "./command.ts";

/** A call of a tool for PLCs. Its `io` is the part that also exists without a terminal. */
export interface ToolCall extends Pick<Call, "values" | "operands"> {
  readonly io: Pick<Io, "progress" | "signal">;
}

export interface ChosenBooth {
  readonly config: Config;
  readonly booth: BoothConfig;
  /** The booth's profile, with the poll intervals of the booth's own configuration. */
  readonly profile: Profile;
}

/** Returns the booth that --booth names, else all booths. Throws a CommandError for an unknown name. */
export function chosenBooths(values: Values): readonly ChosenBooth[] {
  const config = loadConfig(configPath(values));
  const name = values["booth"];
  const booths = config.booths.filter(({ id }) => typeof name !== "string" || id === name);
  if (booths.length === 0) {
    const known = config.booths.map(({ id }) => id).join(", ");
    const text = known === "" ? message("tool.no_booths") : message("tool.no_booth", { booth: String(name), known });
    throw new CommandError(text, EXIT.usage);
  }
  return booths.map((booth) => {
    const profile = findProfile(booth.profile, config.profile_dirs);
    return { config, booth, profile: { ...profile, groups: groupsInForce(profile, booth) } };
  });
}

/** Returns the poll groups that have tags, with the groups' settings. */
export function polledGroups({ profile }: Pick<ChosenBooth, "profile">): [string, Profile["groups"][string]][] {
  return Object.entries(profile.groups).filter(([group]) => tagsOfGroup<ProfileTag>(profile, group).length > 0);
}

/** Returns the booth that --booth names, else the only booth. Throws a CommandError if there are several. */
export function chosenBooth(values: Values): ChosenBooth {
  const [only, ...others] = chosenBooths(values);
  if (only === undefined || others.length > 0) {
    const names = [only, ...others].map((one) => one?.booth.id).join(", ");
    throw new CommandError(message("tool.which_booth", { names }), EXIT.usage);
  }
  return only;
}

/** Returns the booth's Modbus device, even if its profile can't be used yet; null if no configuration names a device. */
export function chosenDevice(values: Values): ModbusConfig | null {
  const given = givenLink(values);
  if (given !== null) return given.modbus ?? null;
  const path = configPath(values);
  if (!existsSync(path)) return null;
  const name = values["booth"];
  const [only, ...others] = loadConfig(path).booths.filter(({ id }) => typeof name !== "string" || id === name);
  return only === undefined || others.length > 0 ? null : (only.modbus ?? null);
}

/** Returns a link that is not configured yet: during set-up the page passes the link as JSON. Throws a ConfigError. */
function givenLink(values: Values): BoothConfig | null {
  const link = values["link"];
  if (typeof link !== "string") return null;
  const entry = { id: "candidate", profile: "candidate", ...(JSON.parse(link) as object) };
  return parseConfig(JSON.stringify({ booths: [entry] }), "what was entered").booths[0] ?? null;
}

/** Returns the device that --host, --port and --rtu name, else the booth's device. Throws a CommandError if neither is named. */
export function deviceAddress(values: Values): ModbusAddress {
  return addressOf(values, chosenDevice(values));
}

/** Returns the device that --host, --port and --rtu name, else `device`. Throws a CommandError if neither is given. */
export function addressOf(values: Values, device: ModbusAddress | null): ModbusAddress {
  const port = numberOption(values, "port", { min: 1, max: 65_535 });
  const named = device === null || "serial" in device ? null : device;
  const given = values["host"];
  const host = typeof given === "string" ? given : named?.host;
  const isAsked = values["host"] !== undefined || port !== undefined || values["rtu"] !== undefined;
  if (device !== null && !isAsked) return device;
  if (host === undefined) throw new CommandError(message("tool.which_plc"), EXIT.usage);
  const framing = values["rtu"] === true ? "rtu" : named?.framing;
  return { host, port: port ?? named?.port ?? MODBUS_PORT, ...(framing === undefined ? {} : { framing }) };
}

/**
 * Returns an option's number; undefined if the option isn't given. Throws a CommandError for a text that isn't a number or is out of
 * bounds.
 */
export function numberOption(
  values: Values,
  name: string,
  { min, max }: { readonly min: number; readonly max: number } = { min: -Infinity, max: Infinity },
): number | undefined {
  const text = values[name];
  if (typeof text !== "string") return undefined;
  const number = text.trim() === "" ? NaN : Number(text);
  if (Number.isFinite(number) && number >= min && number <= max) return number;
  const given = { option: name, text };
  const problem =
    min === -Infinity ? message("tool.no_number", given) : message("tool.no_number_within", { ...given, min, max });
  throw new CommandError(problem, EXIT.usage);
}

/**
 * Returns the unit id that --unit names, else that of the booth's device. Returns undefined if neither is known, or if --host names another
 * device.
 */
export function unitOption(values: Values): number | undefined {
  const own = values["host"] === undefined ? chosenDevice(values)?.unit_id : undefined;
  return numberOption(values, "unit", { min: 0, max: 255 }) ?? own;
}

/** Returns the error to throw for a failed link: advice for the user with exit code 69, or after an abort the signal's reason. */
export function unreachable(error: unknown, address: string, signal?: AbortSignal): unknown {
  if (signal?.aborted === true) return signal.reason;
  if (!(error instanceof LinkError)) return error;
  const text = message("text.todo", { text: error.text, todo: adviceFor(error, address) });
  return new CommandError(message("text.at", { place: address, text }), EXIT.unavailable, error);
}

/** Opens a connection, calls `use` with it and closes it afterwards. Rejects with a LinkError if the device does not answer. */
export async function connectedTo<T>(connection: ToolConnection, use: (connection: ToolConnection) => Promise<T>) {
  try {
    await connection.open();
    return await use(connection);
  } finally {
    connection.close();
  }
}

const TIMES = { connect_ms: 2500, answer_ms: 2000 } as const;

/** Calls `use` with an open connection, which an abort closes. Rejects with a CommandError if the device does not answer. */
export async function withConnection<T>(
  { tools, device, io }: { readonly tools: PlcTools; readonly device: ModbusAddress; readonly io: ToolCall["io"] },
  use: (connection: ToolConnection) => Promise<T>,
): Promise<T> {
  const connection = tools.connect(device, TIMES);
  const close = (): void => connection.close();
  io.signal.addEventListener("abort", close, { once: true });
  try {
    return await connectedTo(connection, use);
  } catch (error) {
    throw unreachable(error, modbusAddressText(device), io.signal);
  } finally {
    io.signal.removeEventListener("abort", close);
    io.progress("");
  }
}

const NOTHING: LinkSharer = {
  links: [],
  ask: () => Promise.reject(new LinkError("config", message("tool.no_link"))),
};

/**
 * Returns the PLC links that the running agent shares; empty if no agent is running. Throws a CommandError if the user may not call the
 * agent.
 */
export async function linksToShare(values: Values, io: Io): Promise<LinkSharer> {
  try {
    const agent = await agentOf({ values, io });
    const { links } = localPlcLinksShape.parse(await agent.get("/plc/links"));
    return { links, ask: (link, ask) => askOver(agent, link, ask) };
  } catch (error) {
    // Returns no links if no agent is running or no configuration names the agent's socket.
    const isNobody = error instanceof ConfigError || (error instanceof CommandError && error.exit === EXIT.unavailable);
    if (isNobody) return NOTHING;
    throw error;
  }
}

async function askOver(agent: Agent, link: string, { unit, pdu }: PlcAsk): Promise<Uint8Array> {
  const body = { link, unit, pdu: Buffer.from(pdu).toString("hex") };
  const said = await agent.post("/plc/ask", body).catch((cause: unknown) => {
    throw new LinkError("closed", message("tool.link_ended", { reason: errorText(cause) }), cause);
  });
  const answer = localPlcAnswerShape.parse(said);
  if (answer.kind === "failed") throw new LinkError(answer.why, answer.message);
  return Buffer.from(answer.pdu, "hex");
}

/**
 * Returns the device for which a profile is made: the device that --host names, else the booth's. Throws a CommandError if neither is
 * named.
 */
export function deviceLink(values: Values, protocol: Profile["protocol"]) {
  if (protocol === "opcua") {
    const { data_dir, booths } = loadConfig(configPath(values));
    const given = givenLink(values)?.opcua;
    const named = booths.filter(({ id }) => typeof values["booth"] !== "string" || id === values["booth"]);
    const found = given === undefined ? named.flatMap(({ opcua }) => opcua ?? []) : [given];
    const [opcua, ...others] = found;
    if (opcua !== undefined && others.length === 0) return { booth: { opcua, poll: {} }, data_dir };
    throw new CommandError(message("tool.which_opcua", { count: found.length }), EXIT.usage);
  }
  const unit_id = unitOption(values);
  const booth: BoothLink = { modbus: { ...deviceAddress(values), ...(unit_id === undefined ? {} : { unit_id }) } };
  return { booth: { ...booth, poll: {} } };
}
