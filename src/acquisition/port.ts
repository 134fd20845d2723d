import type { Text } from "../domain/message.ts";
import type { BoothConfig, BoothLink, Config, ModbusAddress, OpcuaAddress } from "../config/port.ts";
import type { LinkToShare, PlcAsk, RequestCounts } from "../domain/agent-control.ts";
import type { ModbusTable, OpcuaType, Profile } from "../domain/profile.ts";
import type { Sample, TakenEntry } from "../domain/taken.ts";
import type { Milliseconds, StreamId, TakeNumber } from "../domain/units.ts";

/** Addresses of one Modbus table, counted from 0. */
interface AddressRange {
  readonly table: ModbusTable;
  readonly address: number;
  readonly count: number;
}

/** A read of a Modbus device, with its answer. */
export interface WireExchange extends AddressRange {
  readonly unit: number;
  /** Registers, or bits as 0 and 1; null: an exception. */
  readonly words: readonly number[] | null;
  /** The exception's code; null: values. */
  readonly exception: number | null;
}

/** Returns the passwords of a booth's PLC from the service's record, the newer one first. Decrypted at each call and never stored. */
export type PlcPasswords = () => readonly string[];

/** Something unusual about a device or its line that costs no reading. */
export interface LinkNote {
  /** Each kind is logged once. */
  readonly kind: "closes" | "echo" | "stray_bytes";
  readonly text: Text;
}

/** The result of one read: for each poll group one sample for each of its tags, in the profile's order. */
export type GroupSamples = ReadonlyMap<string, readonly Sample[]>;

/**
 * A connection to one device: opened once, read again and again, closed. It may reconnect during a read. After `open` or `read` has
 * rejected, the caller must close it and make a new driver. Implementations: `modbusDriver`, `opcuaDriver`.
 *
 * A driver only reads. A tag without a usable value becomes a bad sample with a reason, next to the good ones; if the device gives no
 * usable answer at all, the read rejects. Every rejection is a LinkError.
 */
export interface Driver {
  /** An abort of the signal ends the connection at any time. */
  open(signal: AbortSignal): Promise<void>;
  /** Reads every tag of these poll groups once, with as few requests as possible for all of them. One read at a time. */
  read(groups: readonly string[]): Promise<GroupSamples>;
  /** Counts requests over all connections. */
  requests?(): RequestCounts;
  /** Counts reconnects during reads; absent: it never reconnects. */
  renewals?(): number;
  /** Returns what is unusual about the device, as far as it is known. */
  notes?(): readonly LinkNote[];
  /** Frees everything. Never rejects; may be called at any time and repeatedly. */
  close(): Promise<void>;
}

/** An append-only file on tmpfs: its entries survive a crash of the process, but not of the machine. Implementation: `openTail`. */
export interface Tail {
  /**
   * Returns entries that an earlier process left, oldest first.
   * @param part only the first `limit` entries of a stream after a take, so that a long file needs little memory. An implementation
   * that holds all entries in memory may ignore it.
   */
  leftover(part?: {
    readonly stream: StreamId;
    readonly after: TakeNumber;
    readonly limit: number;
  }): readonly TakenEntry[];
  /** Counts unreadable lines in the middle of the file, each with at least one entry; absent: none is possible. */
  damaged?(): number;
  /** Returns after the entries have left this process. */
  append(entries: readonly TakenEntry[]): void;
  /** Notes that entries of the stream up to this take number are durable and may be dropped. */
  committed(stream: StreamId, take: TakeNumber): void;
  close(): void;
}

/** Carries out one read over a link; rejects with a LinkError, within `within_ms` if the link is open. */
export type AskOverLink = (ask: PlcAsk, within_ms: Milliseconds) => Promise<Uint8Array>;

/** Receives unit id and PDU of the requests and sound answers on a Modbus link. The buffers may be kept. */
export interface WireTap {
  asked?(request: Buffer): void;
  answered(request: Buffer, answer: Buffer): void;
}

/** The newest polled words of a device, register by register (bits as 0 and 1). */
export interface PolledWords {
  /** Returns the words and the age of the oldest one; null if one of them was never read, or is older than `max_age_ms`. */
  words(
    of: AddressRange & { readonly unit: number },
    max_age_ms: Milliseconds,
  ): { readonly words: readonly number[]; readonly age_ms: Milliseconds } | null;
}

/** A Modbus unit's answer to one read: values (bits as 0 and 1), or an exception's code. */
export type RegisterAnswer =
  { readonly kind: "words"; readonly words: readonly number[] } | { readonly kind: "exception"; readonly code: number };

/** An object of a device's identification (Modbus function 43/14). */
export interface DeviceObject {
  readonly id: number;
  readonly text: string;
}

/** A connection for tools: one of their own, or the agent's. Everything rejects with a LinkError, after which it is closed. */
export interface ToolConnection {
  open(): Promise<void>;
  registers(unit: number, block: AddressRange): Promise<RegisterAnswer>;
  /** Returns the unit's basic and regular identification, in order of id; null if the device has none. */
  identify(unit: number): Promise<readonly DeviceObject[] | null>;
  close(): void;
}

/** An endpoint of an OPC UA server. */
export interface OpcuaOffer {
  /** The policy's name; only modes SignAndEncrypt and None. */
  readonly policy: string;
  /** SHA-256 of the server's certificate, 64 hex digits, and its subject; null and "": it shows no certificate. */
  readonly fingerprint: string | null;
  readonly name: string;
}

/** A variable of an OPC UA server. */
export interface BrowsedVariable {
  /** URI. */
  readonly namespace: string;
  /** `i=`, `s=`, `g=` or `b=` and the identifier. */
  readonly id: string;
  /** Browse names, starting below the folder Objects. */
  readonly path: readonly string[];
  /** Type of its current value; null: none, an array, or a type that no tag has. */
  readonly type: OpcuaType | null;
}

export interface ConnectTimes {
  readonly connect_ms: Milliseconds;
  /** From a request to the last byte of its answer. */
  readonly answer_ms: Milliseconds;
}

/**
 * The drivers' interface for technicians' commands; implementation: `driverTools`. All of it only reads. A tool uses the agent's
 * connection if the running agent holds one to the device, because many PLCs allow no second one; otherwise it connects itself.
 */
export interface PlcTools {
  /** Returns the same tools with at most this many requests per second: a PLC has a machine to run. */
  paced(requests_per_s: number): PlcTools;
  /** Makes the booth's driver as the agent would. */
  driver(
    booth: BoothLink & Pick<BoothConfig, "poll">,
    profile: Profile,
    watch: {
      readonly config: Pick<Config, "data_dir">;
      /** Modbus only: called with every sound answer before it is decoded. */
      readonly onExchange?: (read: WireExchange) => void;
      readonly tap?: WireTap;
    },
  ): Driver;
  /** Returns the planner's cost of a round trip, and the silence before each request. */
  lineCost(address: ModbusAddress): { readonly round_trip_registers: number; readonly silence_ms: Milliseconds };
  connect(address: ModbusAddress, times: ConnectTimes): ToolConnection;
  /** Returns the link to that device that the running agent shares; null: the tool connects itself. */
  sharedLink(address: ModbusAddress): LinkToShare | null;
  /** Returns the secured endpoints of an OPC UA server; sends nothing that requires trust. Rejects with a LinkError. */
  opcuaOffers(endpoint: string, signal: AbortSignal): Promise<readonly OpcuaOffer[]>;
  /** Returns every variable of an OPC UA server except those about the server itself. Rejects with a LinkError. */
  browse(
    server: { readonly address: OpcuaAddress; readonly data_dir: string },
    io: { readonly signal: AbortSignal; progress(found: number): void },
  ): Promise<readonly BrowsedVariable[]>;
  /** Returns whether an OPC UA server answers a hello at this address. */
  greetsOpcua(device: { readonly host: string; readonly port: number }, within_ms: Milliseconds): Promise<boolean>;
  /** Monotonic time, ms with fractions. */
  mono(): Milliseconds;
  /** Resolves after that time; rejects with the signal's reason if it aborts. */
  sleep(ms: Milliseconds, signal: AbortSignal): Promise<void>;
}
