import type { BoothInput, GatewayInput, ModbusInput, OPCUA_POLICIES, OpcuaInput } from "./gateway-schema.ts";

/** The configuration as the other stations see it. What a key means and may hold stands in its schema alone. */

/** Nobody changes the configuration once it is read. */
type Settled<T> = T extends string | number | boolean
  ? T
  : T extends readonly (infer Item)[]
    ? readonly Settled<Item>[]
    : { readonly [Key in keyof T]: Settled<T[Key]> };

/** A serial port as the devices on its line want it. */
export type SerialSettings = Settled<NonNullable<ModbusInput["serial"]>>;

/**
 * Where a Modbus device is reached: Modbus TCP (the default framing), RTU frames over TCP (a serial device server), or a
 * serial line (RTU). Booths with the same host and port, or the same serial path, share one connection.
 */
export type ModbusAddress = Settled<
  | (Required<Pick<ModbusInput, "host" | "port">> &
      Pick<ModbusInput, "framing" | "transaction_id_offset" | "answer_unit_id">)
  | Required<Pick<ModbusInput, "serial">>
>;

/** A device on it. */
export type ModbusConfig = ModbusAddress & Settled<Pick<ModbusInput, "unit_id" | "answer_timeout_ms" | "share">>;

export type OpcuaPolicy = (typeof OPCUA_POLICIES)[number];

/** Where an OPC UA server is, and what makes it ours. */
export type OpcuaAddress = Settled<OpcuaInput>;

/** Which way leads to the booth's PLC; its profile speaks the same protocol. */
export type BoothLink =
  { readonly modbus: ModbusConfig; readonly opcua?: never } | { readonly opcua: OpcuaAddress; readonly modbus?: never };

/** One booth as the box's own configuration file has it. What is absent comes from the profile or the service. */
export type BoothConfig = Settled<Omit<BoothInput, keyof BoothLink>> & BoothLink;

/** The whole configuration file, defaults filled in. */
export type Config = Settled<Omit<GatewayInput, "profile_dirs" | "booths">> & {
  /** Yours, and the shipped ones last. */
  readonly profile_dirs: readonly string[];
  readonly booths: readonly BoothConfig[];
};

export type ServiceConfig = Config["service"];

/** Whom else the box tells what it reads. */
export type OutputConfig = Config["outputs"][number];

/** Whom it tells of alarms. */
export type NoticeConfig = Config["notices"][number];

/** How a PLC's connection is shared with others. */
export type ShareConfig = NonNullable<ModbusConfig["share"]>;
