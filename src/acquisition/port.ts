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
  /** Registers, or bits as 0 and 1; null: the answer is an exception. */
  readonly words: readonly number[] | null;
  /** The exception's code; null: the answer has values. */
  readonly exception: number | null;
}

/**
 * Returns the passwords of a booth's PLC from the service's record, the newer one first. They are decrypted at each call and never stored.
 */
export type PlcPasswords = () => readonly string[];

/** A peculiarity of a device or its line that doesn't cost any reading. */
export interface LinkNote {
  /** Kind of the note. Each kind is logged once. */
  readonly kind: "closes" | "echo" | "stray_bytes";
  readonly text: Text;
}

/** The result of one read. Each poll group has one sample for each of its tags, in the profile's order. */
export type GroupSamples = ReadonlyMap<string, readonly Sample[]>;

/**
 * A connection to one device: opened once, read repeatedly, then closed. It may reconnect during a read. After `open` or `read` has
 * rejected, the caller must close the driver and make a new one. Implementations: `modbusDriver`, `opcuaDriver`.
 *
 * A driver never writes to a device. A tag without a usable value becomes a bad sample with a reason, next to the good samples. If the
 * device gives no usable answer at all, the read rejects. Every rejection is a LinkError.
 */
export interface Driver {
  /** Opens the connection. If the signal aborts, the connection ends, even after `open`. */
  open(signal: AbortSignal): Promise<void>;
  /** Reads every tag of these poll groups once, with as few requests as possible. Only one read runs at a time. */
  read(groups: readonly string[]): Promise<GroupSamples>;
  /** Returns the number of requests over all connections. */
  requests?(): RequestCounts;
  /** Returns the number of reconnects during reads. Absent: the driver never reconnects. */
  renewals?(): number;
  /** Returns the known peculiarities of the device. */
  notes?(): readonly LinkNote[];
  /** Frees everything. Never rejects. May be called at any time and repeatedly. */
  close(): Promise<void>;
}

/**
 * The tail: an append-only file on tmpfs. Its entries survive a crash of the process, but not of the machine. Implementation: `openTail`.
 */
export interface Tail {
  /**
   * Returns entries that an earlier process left, oldest first.
   * @param part returns only the first `limit` entries of a booth's log after a take (entry number), so that a long file needs little
   * memory. An implementation that holds all entries in memory may ignore this parameter.
   */
  leftover(part?: {
    readonly stream: StreamId;
    readonly after: TakeNumber;
    readonly limit: number;
  }): readonly TakenEntry[];
  /** Returns the number of unreadable lines in the middle of the file, each with at least one entry. Absent: such lines are impossible. */
  damaged?(): number;
  /** Appends entries. After the return, they survive a crash of this process. */
  append(entries: readonly TakenEntry[]): void;
  /** Notes that the log's entries up to this take number are durable and may be dropped. */
  committed(stream: StreamId, take: TakeNumber): void;
  close(): void;
}

/** Carries out one read over a link. Rejects with a LinkError, within `within_ms` if the link is open. */
export type AskOverLink = (ask: PlcAsk, within_ms: Milliseconds) => Promise<Uint8Array>;

/** Receives unit id and PDU of the requests and valid answers on a Modbus link. The buffers may be kept. */
export interface WireTap {
  asked?(request: Buffer): void;
  answered(request: Buffer, answer: Buffer): void;
}

/** The newest polled words of a device, by address (bits as 0 and 1). */
export interface PolledWords {
  /** Returns the words and the age of the oldest one; null if one of them was never read or is older than `max_age_ms`. */
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

/**
 * A connection for tools: their own connection, or the agent's. Every method rejects with a LinkError, after which the connection is
 * closed.
 */
export interface ToolConnection {
  open(): Promise<void>;
  registers(unit: number, block: AddressRange): Promise<RegisterAnswer>;
  /** Returns the unit's basic and regular identification, in order of id; null if the unit has none. */
  identify(unit: number): Promise<readonly DeviceObject[] | null>;
  close(): void;
}

/** An endpoint of an OPC UA server. */
export interface OpcuaOffer {
  /** Name of the security policy. Only the modes SignAndEncrypt and None are listed. */
  readonly policy: string;
  /** SHA-256 of the server's certificate, 64 hex digits. null: the server shows no certificate, and `name` (its subject) is "". */
  readonly fingerprint: string | null;
  readonly name: string;
}

/** A variable of an OPC UA server. */
export interface BrowsedVariable {
  /** URI of the namespace. */
  readonly namespace: string;
  /** Identifier with its prefix: `i=`, `s=`, `g=` or `b=`. */
  readonly id: string;
  /** Browse names, starting below the folder Objects. */
  readonly path: readonly string[];
  /** Type of the current value; null: no value, an array, or a type that tags don't support. */
  readonly type: OpcuaType | null;
}

export interface ConnectTimes {
  readonly connect_ms: Milliseconds;
  /** Longest time from a request to the last byte of its answer. */
  readonly answer_ms: Milliseconds;
}

/**
 * The drivers' interface for technicians' commands. Implementation: `driverTools`. All functions only read. If the running agent is
 * connected to the device, a tool uses the agent's connection, because many PLCs allow only one. Otherwise the tool connects itself.
 */
export interface PlcTools {
  /** Returns the same tools with at most this many requests per second, because the PLC must also control its machine. */
  paced(requests_per_s: number): PlcTools;
  /** Makes the same driver for the booth as the agent would. */
  driver(
    booth: BoothLink & Pick<BoothConfig, "poll">,
    profile: Profile,
    watch: {
      readonly config: Pick<Config, "data_dir">;
      /** Called with every valid answer before it is decoded; only for Modbus. */
      readonly onExchange?: (read: WireExchange) => void;
      readonly tap?: WireTap;
    },
  ): Driver;
  /** Returns the planner's cost of a round trip, and the silence before each request. */
  lineCost(address: ModbusAddress): { readonly round_trip_registers: number; readonly silence_ms: Milliseconds };
  connect(address: ModbusAddress, times: ConnectTimes): ToolConnection;
  /** Returns the link to that device that the running agent shares; null: the tool connects itself. */
  sharedLink(address: ModbusAddress): LinkToShare | null;
  /** Returns the secured endpoints of an OPC UA server. Sends nothing that requires trust. Rejects with a LinkError. */
  opcuaOffers(endpoint: string, signal: AbortSignal): Promise<readonly OpcuaOffer[]>;
  /** Returns every variable of an OPC UA server except those about the server itself. Rejects with a LinkError. */
  browse(
    server: { readonly address: OpcuaAddress; readonly data_dir: string },
    io: { readonly signal: AbortSignal; progress(found: number): void },
  ): Promise<readonly BrowsedVariable[]>;
  /** Returns whether an OPC UA server answers a hello at this address. */
  greetsOpcua(device: { readonly host: string; readonly port: number }, within_ms: Milliseconds): Promise<boolean>;
  /** Returns monotonic time, ms with fractions. */
  mono(): Milliseconds;
  /** Resolves after that time. Rejects with the signal's reason if the signal aborts. */
  sleep(ms: Milliseconds, signal: AbortSignal): Promise<void>;
}
