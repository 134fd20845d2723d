import type { FilterLimits, FilterType, ModeSets, WorkingHours } from "./booth.ts";
import type { StoreConfig } from "../storage.ts";
import type { BoothId, Milliseconds, Serial } from "./units.ts";

/** A serial port as the devices on its line want it. */
export interface SerialSettings {
  /** e.g. /dev/ttyUSB0, better a name under /dev/serial/by-id that stays with the adapter */
  readonly path: string;
  readonly baud_rate: number;
  readonly data_bits: 7 | 8;
  readonly parity: "none" | "even" | "odd";
  readonly stop_bits: 1 | 2;
}

/**
 * Where a Modbus device is reached: Modbus TCP (the default framing), RTU frames over TCP (a serial device server), or a
 * serial line (RTU). Booths with the same host and port, or the same serial path, share one connection.
 */
export type ModbusAddress =
  | { readonly host: string; readonly port: number; readonly framing?: "tcp" | "rtu" }
  | { readonly serial: SerialSettings };

/** A device on it. */
export type ModbusConfig = ModbusAddress & {
  /** Overrides the profile's. */
  readonly unit_id?: number;
  /** From a request to the end of its answer; absent: 2,000 over TCP, 500 with RTU. */
  readonly answer_timeout_ms?: Milliseconds;
};

/** Security policies without known weaknesses, and None. */
export const OPCUA_POLICIES = ["Basic256Sha256", "Aes128_Sha256_RsaOaep", "Aes256_Sha256_RsaPss", "None"] as const;
export type OpcuaPolicy = (typeof OPCUA_POLICIES)[number];

/** Where an OPC UA server is, and what makes it ours. */
export interface OpcuaAddress {
  /** opc.tcp://host:port/path */
  readonly endpoint: string;
  /** Messages are always signed and encrypted, but for None, which needs `allow_insecure`. */
  readonly security_policy: OpcuaPolicy;
  /**
   * read (the default): each poll asks. subscribe: the server tells what has changed and polls are answered from that;
   * where it refuses, or grants less than polls would give, each poll asks.
   */
  readonly mode?: "read" | "subscribe";
  /** With policy None alone; every reading is then of quality uncertain, and no password is sent. */
  readonly allow_insecure: boolean;
  /** Login by name; absent: by `user_certificate_file`, else anonymous. */
  readonly user?: string;
  /** File of mode 0600; absent with `user`: the service's record has the password. */
  readonly password_file?: string;
  /** Login by certificate, PEM; the key's file has mode 0600. */
  readonly user_certificate_file?: string;
  readonly user_key_file?: string;
  /** SHA-256 of the server's certificate, 64 lower-case hex digits. */
  readonly server_certificate_fingerprint?: string;
  /** The server's certificate, or that of the authority that signed it and the host's name in it, PEM or DER. */
  readonly server_certificate_file?: string;
}

/** Which way leads to the booth's PLC; its profile speaks the same protocol. */
export type BoothLink =
  { readonly modbus: ModbusConfig; readonly opcua?: never } | { readonly opcua: OpcuaAddress; readonly modbus?: never };

/** One booth as the box's own configuration file has it. What is absent comes from the profile or the service. */
export type BoothConfig = BoothSettings & BoothLink;

interface BoothSettings {
  readonly id: BoothId;
  readonly serial?: Serial;
  readonly profile: string;
  /** Poll interval per group of the profile; overrides the profile's. */
  readonly poll: Readonly<Record<string, { readonly poll_interval_ms: Milliseconds }>>;
  readonly mode_sets?: Partial<ModeSets>;
  readonly min_stage_ms?: Milliseconds;
  readonly bay_count: number;
  readonly burner_size_btu_h?: number;
  readonly motor_size_hp?: number;
  readonly filters: Readonly<Partial<Record<FilterType, { readonly limits: FilterLimits }>>>;
  /** Used until the service has told the facility's own. */
  readonly tz: string;
  readonly working_hours: readonly WorkingHours[];
}

export interface ServiceConfig {
  /** Base of /api, e.g. https://service.example; http only on loopback. */
  readonly url: string;
  /** Extra certificate authorities, PEM file. */
  readonly ca_file?: string;
  /** http://HOST:PORT of a proxy on the way to the service. */
  readonly proxy_url?: string;
  /** First key (scope provision): a file with mode 0600, or a systemd credential of that name. */
  readonly api_key_file?: string;
  readonly api_key_credential?: string;
  /** What goes with each request: the key itself (the default), or a session token that is asked for with it. */
  readonly authorization?: "key" | "session";
  /** What this box shows to a broker that asks for a certificate, PEM, and its key; both or none. */
  readonly client_certificate_file?: string;
  readonly client_key_file?: string;
  /** Broker for readings where the service's records name none; mqtt and ws only on loopback. */
  readonly mqtt_url?: string;
  /** Records a second at most of what waited during an outage, for uplinks that others share; absent: as fast as it goes. */
  readonly backlog_records_per_s?: number;
}

/** Where people find the page; 0: any free port. */
export interface PageConfig {
  readonly port: number;
  readonly lan_port: number;
  /** A PIN set beforehand, mode 0600; absent: the page opens on the network by command alone. */
  readonly pin_file?: string;
}

/** The whole configuration file, defaults filled in. */
export interface Config {
  readonly data_dir: string;
  readonly runtime_dir: string;
  readonly profile_dirs: readonly string[];
  readonly log_level: "debug" | "info" | "warn" | "error";
  readonly commit_interval_ms: Milliseconds;
  readonly heartbeat_interval_ms: Milliseconds;
  /** Simulation only: the wall clock is read from this file instead of from the system. */
  readonly clock_file?: string;
  readonly store: StoreConfig;
  readonly page: PageConfig;
  readonly service: ServiceConfig;
  readonly booths: readonly BoothConfig[];
}
