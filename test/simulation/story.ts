import type { FilterType } from "../../src/domain/booth.ts";
import type { RowSizes } from "../../src/domain/storage.ts";
import type { ClosesWhen } from "../../simulators/virtual/closing-device.ts";
import type { WrongType } from "../../simulators/virtual/driver.ts";
import { HTTP_LIES } from "./http-lies.ts";
import { ACK_LIES } from "./lies.ts";
import { ORDER_LIES } from "./order-lies.ts";

export const LIES = [...ACK_LIES, ...HTTP_LIES, ...ORDER_LIES] as const;
export type Lie = (typeof LIES)[number];

/** A fault of the gateway or its surroundings. `at_ms`: true time after the story's start; `for_ms`: duration. */
export type Fault = { readonly at_ms: number } & FaultKind;

/**
 * A moment inside the agent: the nth call of that port from `at_ms` on, either before its execution or after it, before
 * the agent gets the result.
 */
export interface Moment {
  readonly port: Port;
  readonly nth: number;
  readonly when: "before" | "after";
}

export const PORTS = ["ingest", "read", "ack", "append", "http", "send", "hello", "plc", "row"] as const;
/**
 * row: the provisioning row is stored; append: a take is appended to the tail; plc: a poll; output: a message of an
 * output arrives at its broker.
 */
export type Port = (typeof PORTS)[number] | "output";

/** The gateway's wall clock at a boot: right, in 1970, or a day off. */
export type WallAtBoot = "right" | "1970" | "day_ahead" | "day_behind";

export type FaultKind =
  /** kill -9 at that instant or at a moment inside the agent. The next process starts `for_ms` later. */
  | { readonly kind: "kill"; readonly moment: Moment | null; readonly for_ms: number }
  /** SIGTERM and a new start. `upgrade`: with another version. */
  | { readonly kind: "restart"; readonly upgrade: boolean; readonly for_ms: number }
  /** The gateway loses power: the tail and everything unsynced is lost. It boots `for_ms` later. */
  | { readonly kind: "power_cut"; readonly moment: Moment | null; readonly for_ms: number; readonly wall: WallAtBoot }
  /** An orderly reboot: SIGTERM, the tail is lost, and a new boot. */
  | { readonly kind: "reboot"; readonly for_ms: number; readonly wall: WallAtBoot }
  | { readonly kind: "plc"; readonly how: "timeout" | "refused" | "reset"; readonly for_ms: number }
  | { readonly kind: "cable"; readonly for_ms: number }
  | { readonly kind: "plc_power"; readonly for_ms: number; readonly counters: "retained" | "lost" }
  /** The PLC loses this share of its answers, or answers another request. */
  | {
      readonly kind: "lossy";
      readonly share: number;
      readonly reason: "no_answer" | "wrong_answer";
      readonly salt: number;
      readonly for_ms: number;
    }
  /** A tag whose read gets an exception. */
  | { readonly kind: "bad_tag"; readonly tag: string; readonly for_ms: number }
  | { readonly kind: "service_down"; readonly for_ms: number }
  /** The service is restored from a backup that is as old as the fault is long. */
  | { readonly kind: "service_restored"; readonly for_ms: number }
  | { readonly kind: "latency"; readonly latency_ms: number; readonly for_ms: number }
  | { readonly kind: "lost_acks"; readonly count: number }
  | { readonly kind: "doubled"; readonly count: number }
  /** HTTP answers with that status, or only half of their body. */
  | { readonly kind: "http"; readonly status: 401 | 403 | 429 | 500 | 503 | "cut"; readonly for_ms: number }
  /**
   * False answers of the service or of a proxy: `times` answers within `for_ms`, or all of them. Their content is drawn
   * from `salt`.
   */
  | {
      readonly kind: "lying";
      readonly lie: Lie;
      readonly times: number | null;
      readonly salt: number;
      readonly for_ms: number;
    }
  /** Chunks have this fault. Batches are accepted. */
  | { readonly kind: "chunks"; readonly how: ChunkTrouble; readonly for_ms: number }
  /** The broker ends the session. */
  | { readonly kind: "session_lost" }
  | { readonly kind: "clock_step"; readonly step_ms: number }
  | { readonly kind: "disk"; readonly how: "full" | "io" | "fsync"; readonly for_ms: number }
  /** A bit of the database flips while the agent is down, either stopped in order or killed at that instant. */
  | { readonly kind: "bad_bit"; readonly where: number; readonly is_killed: boolean; readonly for_ms: number }
  /** Another gateway replaces this one, which never comes back. */
  | { readonly kind: "swap"; readonly for_ms: number }
  /** Reset buttons are pressed one after the other within seconds. */
  | { readonly kind: "filter_change"; readonly filters: readonly FilterType[] }
  | {
      readonly kind: "entry";
      readonly filter: FilterType;
      readonly ago_ms: number;
    }
  | FieldFault
  | OutputFault;

/** Faults reported from the field. They are drawn from their own random sequence: see field/stories.ts. */
export type FieldFault =
  /**
   * The gateway boots without NTP while the service is down, and no clock is confirmed until the fault ends. Outputs
   * stay reachable.
   */
  | { readonly kind: "no_time"; readonly wall: WallAtBoot; readonly for_ms: number }
  /** A tag's variable or register has a value of another type than in the profile. */
  | { readonly kind: "wrong_type"; readonly tag: string; readonly how: WrongType; readonly for_ms: number }
  /** The PLC closes the connection after each complete response. */
  | { readonly kind: "plc_closes"; readonly when: ClosesWhen; readonly for_ms: number }
  /** The service's broker ends the session after each ack. */
  | { readonly kind: "service_closes"; readonly for_ms: number }
  /**
   * A loop of the agent throws a programmer error. `hangs`: from then on calls of this port don't settle; null: no port
   * hangs.
   */
  | { readonly kind: "fatal"; readonly loop: AgentLoop; readonly hangs: Port | null }
  /** A foreign answer is nested too deeply or is too large. */
  | { readonly kind: "foreign"; readonly how: ForeignShape; readonly in: ForeignAnswer; readonly for_ms: number };

export const FIELD_KINDS = [
  "no_time",
  "wrong_type",
  "plc_closes",
  "service_closes",
  "output_closes",
  "fatal",
  "foreign",
] as const;
/** Number of occurrences of each kind. */
export type FieldCounts = Readonly<Record<(typeof FIELD_KINDS)[number], number>>;

/** The loops into which a fatal error is injected, by the first words of their names in the agent. */
export const AGENT_LOOPS = [
  "polls",
  "committer",
  "session",
  "clock",
  "watchdog",
  "remote commands",
  "provisioning",
  "reported fields",
  "parameters",
  "reconciliation",
  "outputs",
] as const;
export type AgentLoop = (typeof AGENT_LOOPS)[number];

export const FOREIGN_SHAPES = ["deep", "many", "long_text"] as const;
export type ForeignShape = (typeof FOREIGN_SHAPES)[number];

/** report: figures of the service; record: the provisioning record; ack, command: messages on down/ack and down/cmd. */
export const FOREIGN_ANSWERS = ["report", "report", "record", "ack", "command", "host_state"] as const;
export type ForeignAnswer = (typeof FOREIGN_ANSWERS)[number];

/** A fault of the output with that name. */
export type OutputFault = { readonly output: string } &
  /**
   * refused: its broker has ended; forgetful: its broker has ended and loses its data; silent: nothing gets through.
   */
  (
    | { readonly kind: "output_away"; readonly how: "refused" | "forgetful" | "silent"; readonly for_ms: number }
    /** The line breaks after this many more messages, before the broker confirms the last one. */
    | { readonly kind: "output_cut"; readonly after: number }
    | { readonly kind: "output_slow"; readonly latency_ms: number; readonly for_ms: number }
    /** Its broker ends the session after each confirmation. */
    | { readonly kind: "output_closes"; readonly for_ms: number }
    /** The primary host is offline. */
    | { readonly kind: "output_host"; readonly for_ms: number }
    | { readonly kind: "output_command"; readonly command: OutputCommand }
    /** The agent restarts with another configuration: without Home Assistant, or without the output for a while. */
    | { readonly kind: "output_config"; readonly how: "without_discovery" | "absent"; readonly for_ms: number }
  );

/** Commands to an edge node: a rebirth, many rebirths, and commands that it must ignore. */
export const OUTPUT_COMMANDS = [
  "rebirth",
  "rebirths",
  "retained",
  "garbage",
  "oversized",
  "other",
  "false",
  "device",
] as const;
export type OutputCommand = (typeof OUTPUT_COMMANDS)[number];

export interface StoryOutput {
  readonly name: string;
  readonly kind: "plain" | "home_assistant" | "sparkplug";
  /** Start of the sent readings; null: only readings taken from then on. */
  readonly since: string | null;
  readonly payload: "json" | "value";
  readonly history: boolean;
  readonly has_host: boolean;
}

/**
 * The service doesn't accept chunks; rejects each; reports a false conflict at its start; doesn't answer, whether or
 * not it has stored the chunk; or acks it under a wrong hash without storing it.
 */
export const CHUNK_TROUBLES = ["not_taken", "refused", "conflict", "silent", "other_hash"] as const;
export type ChunkTrouble = (typeof CHUNK_TROUBLES)[number];

/** Sizes at which a day's records fill chunks. */
export interface StoryChunks extends RowSizes {
  /** From this number on, waiting records have their own lane. */
  readonly least_backlog: number;
}

/** A whole story as plain data. It can be played with fewer faults or fewer hours. */
export interface Story {
  readonly seed: number;
  /** Epoch ms, true time. */
  readonly start: number;
  /** Hours of booth life from the start on. Readings up to their end must be delivered within the quiet time. */
  readonly hours: number;
  /** Length of the booth's own story, independent of `hours`. */
  readonly told_hours: number;
  /** Number of days after the first on which the booth's working day is repeated. Absent: none. */
  readonly repeated_days?: number;
  readonly tz: string;
  readonly profile: string;
  /** Poll interval of the group with the mode. */
  readonly poll_ms: number;
  readonly commit_interval_ms: number;
  /** Size limit of the store; null: the default. */
  readonly budget_bytes: number | null;
  /** null or absent: the agent's own sizes. */
  readonly chunks?: StoryChunks | null;
  /** The service accepts no chunks, like a service that doesn't know them. */
  readonly is_without_chunks?: boolean;
  /** Time in ms after the start at which the serial number is entered; null: it is in the configuration. */
  readonly serial_at_ms: number | null;
  /** Outputs. Absent: none. */
  readonly outputs?: readonly StoryOutput[];
  /** The story is also played without its outputs, and everything else must be equal. */
  readonly is_compared?: boolean;
  readonly faults: readonly Fault[];
}
