import type { BoothInput, GatewayInput, ModbusInput, OPCUA_POLICIES, OpcuaInput } from "./gateway-schema.ts";

/*
 * This module has the types of the configuration for the other folders. Only the schema defines what a key means and which values it may
 * have.
 */

/** A configuration's type after parsing: read-only at every level. */
type Settled<T> = T extends string | number | boolean
  ? T
  : T extends readonly (infer Item)[]
    ? readonly Settled<Item>[]
    : { readonly [Key in keyof T]: Settled<T[Key]> };

/** The settings of a serial port. */
export type SerialSettings = Settled<NonNullable<ModbusInput["serial"]>>;

/**
 * The address of a Modbus device: Modbus TCP (the default framing), RTU frames over TCP (a serial device server), or a serial line (RTU).
 * Booths with the same host and port, or the same serial path, share a connection.
 */
export type ModbusAddress = Settled<
  | (Required<Pick<ModbusInput, "host" | "port">> &
      Pick<ModbusInput, "framing" | "transaction_id_offset" | "answer_unit_id">)
  | Required<Pick<ModbusInput, "serial">>
>;

/** A Modbus device of a booth. */
export type ModbusConfig = ModbusAddress & Settled<Pick<ModbusInput, "unit_id" | "answer_timeout_ms" | "share">>;

export type OpcuaPolicy = (typeof OPCUA_POLICIES)[number];

/** The endpoint of an OPC UA server, with the security and the login of a session. */
export type OpcuaAddress = Settled<OpcuaInput>;

/** The link to the booth's PLC. The booth's profile must have the same protocol. */
export type BoothLink =
  { readonly modbus: ModbusConfig; readonly opcua?: never } | { readonly opcua: OpcuaAddress; readonly modbus?: never };

/** A booth of the configuration file. Absent settings come from the profile or the service. */
export type BoothConfig = Settled<Omit<BoothInput, keyof BoothLink>> & BoothLink;

/** The whole configuration, with defaults filled in. */
export type Config = Settled<Omit<GatewayInput, "profile_dirs" | "booths">> & {
  /** The folders of profiles: first the operator's, then that of profiles made on the box, then the shipped one. */
  readonly profile_dirs: readonly string[];
  readonly booths: readonly BoothConfig[];
};

export type ServiceConfig = Config["service"];

export type OutputConfig = Config["outputs"][number];

export type NoticeConfig = Config["notices"][number];

/** The settings of a PLC connection that other Modbus clients share. */
export type ShareConfig = NonNullable<ModbusConfig["share"]>;
