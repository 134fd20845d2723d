import type { BoothConfig, BoothLink, Config, ModbusAddress, OpcuaAddress } from "../config/port.ts";
import type { ModbusTable, OpcuaType, Profile } from "../domain/profile.ts";
import type { LinkToShare, PlcAsk, RequestCounts } from "../domain/agent-control.ts";
import type { Sample, TakenEntry } from "../domain/taken.ts";
import type { Milliseconds, StreamId, TakeNumber } from "../domain/units.ts";

/** One read of a Modbus device and what it said to it. */
export interface WireExchange {
  readonly unit: number;
  readonly table: ModbusTable;
  readonly address: number;
  readonly count: number;
  /** Registers, or bits as 0 and 1; null: an exception. */
  readonly words: readonly number[] | null;
  /** The exception's code; null: none. */
  readonly exception: number | null;
}

/** Passwords of a booth's PLC in the service's record, the newer one first; opened as they are asked for, and kept nowhere. */
export type PlcPasswords = () => readonly string[];

/** Something unusual about a device or its line that costs no reading. */
export interface LinkNote {
  /** Logged once for each kind. */
  readonly kind: "closes" | "echo" | "stray_bytes";
  readonly text: string;
}

/** What one read gave: by poll group one sample for each of its tags, in the profile's order. */
export type GroupSamples = ReadonlyMap<string, readonly Sample[]>;

/**
 * One way to one device. It may make its connection anew within a read; after open or read has rejected it must be closed, and a
 * new one made.
 */
export interface Driver {
  /** Rejects with a LinkError. An abort ends the connection, as long as it stands. */
  open(signal: AbortSignal): Promise<void>;
  /**
   * Reads every tag of these poll groups once, with as few requests as all of them together need. One read at a time.
   * What refuses, or was lost (no_answer, wrong_answer), is bad beside good ones; no usable answer at all rejects with a LinkError.
   */
  read(groups: readonly string[]): Promise<GroupSamples>;
  /** Over all its connections. */ requests?(): RequestCounts;
  /** How often it has made its connection anew within reads; absent: it never does. */ renewals?(): number;
  /** What is unusual, as far as it is known; absent: nothing ever is. */
  notes?(): readonly LinkNote[];
  /** Frees everything; never rejects; may be called at any time and more than once. */
  close(): Promise<void>;
}

/** Append-only file on tmpfs: what it holds survives a crash of the process, not of the machine. */
export interface Tail {
  /**
   * Entries that an earlier process left behind, oldest first. `part`: only the first `limit` of a stream after a take, so that a long
   * file needs little memory; an implementation that holds all in memory may ignore it.
   */
  leftover(part?: {
    readonly stream: StreamId;
    readonly after: TakeNumber;
    readonly limit: number;
  }): readonly TakenEntry[];
  /** Lines in its midst that can't be read, each an entry or more; absent: none can be. */
  damaged?(): number;
  /** Returns once the entries are out of this process's hands. */
  append(entries: readonly TakenEntry[]): void;
  /** Entries of the stream up to this take number are durable and may be dropped. */
  committed(stream: StreamId, take: TakeNumber): void;
  close(): void;
}

/** Carries one read out over the link; rejects with a LinkError, within `within_ms` where the link stands. */
export type AskOverLink = (ask: PlcAsk, within_ms: Milliseconds) => Promise<Uint8Array>;

/** Sees the bytes of a Modbus link: unit id and PDU, of requests as they are sent and of sound answers. The buffers may be kept. */
export interface WireTap {
  asked(request: Buffer): void;
  answered(request: Buffer, answer: Buffer): void;
}

/** What polls read last of a device, register by register (bits as 0 and 1). */
export interface PolledWords {
  /** null: not all of it was read, or some of it longer ago. */
  words(of: { readonly unit: number } & PolledRange, max_age_ms: Milliseconds): PolledAnswer | null;
}

/** Addresses count from 0 within the table. */
export interface PolledRange {
  readonly table: ModbusTable;
  readonly address: number;
  readonly count: number;
}

export interface PolledAnswer {
  readonly words: readonly number[];
  /** Of the oldest of them. */
  readonly age_ms: Milliseconds;
}

/** How a Modbus unit took one read: values (bits as 0 and 1), or an exception's code. */
export type RegisterAnswer =
  { readonly kind: "words"; readonly words: readonly number[] } | { readonly kind: "exception"; readonly code: number };

/** One object of a device's identification (Modbus function 43/14). */
export interface DeviceObject {
  readonly id: number;
  readonly text: string;
}

/** A connection of a tool's own, or the agent's shared one. Everything rejects with a LinkError, after which it is closed. */
export interface ToolConnection {
  open(): Promise<void>;
  registers(
    unit: number,
    block: { readonly table: ModbusTable; readonly address: number; readonly count: number },
  ): Promise<RegisterAnswer>;
  /** The unit's basic and regular identification, in order of id; null: the device doesn't tell. */
  identify(unit: number): Promise<readonly DeviceObject[] | null>;
  close(): void;
}

/** One way into an OPC UA server. */
export interface OpcuaOffer {
  /** The policy's name, SignAndEncrypt or None alone. */
  readonly policy: string;
  /** SHA-256 of the server's certificate, 64 hex digits, and whom it names; null and "": it shows none. */
  readonly fingerprint: string | null;
  readonly name: string;
}

/** A variable that an OPC UA server shows. */
export interface BrowsedVariable {
  /** URI. */
  readonly namespace: string;
  /** `i=`, `s=`, `g=` or `b=` and the identifier. */
  readonly id: string;
  /** Names from the folder Objects down. */
  readonly path: readonly string[];
  /** Of what it holds now; null: nothing, a list, or something that no tag can be. */
  readonly type: OpcuaType | null;
}

export interface ConnectTimes {
  readonly connect_ms: Milliseconds;
  /** From a request to the last byte of its answer. */
  readonly answer_ms: Milliseconds;
}

/**
 * What the commands for technicians need of the drivers. Only reads: over the agent's connection where it holds one to the
 * device, since many PLCs allow no second, else over one of their own.
 */
export interface PlcTools {
  /** The same, with so many requests a second at most: a PLC has a machine to run. */
  paced(requests_per_s: number): PlcTools;
  /** The booth's driver as the agent would make it. */
  driver(
    booth: BoothLink & Pick<BoothConfig, "poll">,
    profile: Profile,
    watch: {
      readonly config: Pick<Config, "data_dir">;
      /** Modbus only: every sound answer before it is decoded. */
      readonly onExchange?: (read: WireExchange) => void;
      readonly tap?: WireTap;
    },
  ): Driver;
  /** How the planner weighs a round trip there, and the silence that the line wants. */
  lineCost(address: ModbusAddress): { readonly round_trip_registers: number; readonly silence_ms: Milliseconds };
  connect(address: ModbusAddress, times: ConnectTimes): ToolConnection;
  /** The link to that device that the running agent shares; null: the tool connects itself. */
  sharedLink(address: ModbusAddress): LinkToShare | null;
  /** What an OPC UA server says of its secured endpoints; nothing is sent that needs trust. Rejects with a LinkError. */
  opcuaOffers(endpoint: string, signal: AbortSignal): Promise<readonly OpcuaOffer[]>;
  /** Every variable of an OPC UA server but those that tell of the server itself. Rejects with a LinkError. */
  browse(
    server: { readonly address: OpcuaAddress; readonly data_dir: string },
    io: { readonly signal: AbortSignal; progress(found: number): void },
  ): Promise<readonly BrowsedVariable[]>;
  /** Whether an OPC UA server answers a hello there. */
  greetsOpcua(device: { readonly host: string; readonly port: number }, within_ms: Milliseconds): Promise<boolean>;
  /** Monotonic, ms with fractions. */
  mono(): Milliseconds;
  /** Resolves after that time; rejects with the signal's reason when aborted. */
  sleep(ms: Milliseconds, signal: AbortSignal): Promise<void>;
}
