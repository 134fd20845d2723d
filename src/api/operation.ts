import { message, type Text } from "../domain/message.ts";
import { MessageError } from "../domain/messages/message-error.ts";
import type { Reloaded } from "../config/differences.ts";
import type { BoothEntry } from "../config/set-up.ts";
import type { BoothFieldValues } from "../contract/booths.ts";
import type { BodyOf } from "../contract/local.ts";
import type { ServedOperation } from "../contract/operations.ts";
import type { AgentControl } from "../domain/agent-control.ts";
import type { ServiceAnswer } from "../domain/service.ts";
import type { SetUpStatus } from "../domain/set-up.ts";
import type { AgentStatus, BoothStatus, PageAccess } from "../domain/status.ts";
import type { Rebuilds } from "../store/port.ts";
import type { FilterLabels } from "./filter-labels.ts";
import type { LiveFeed } from "./live.ts";
import type { Answering } from "./over-tls.ts";
import type { PageNetwork, PageState } from "./port.ts";
import type { AskReport, BoothReport, BoxReport } from "./report.ts";
import type { Sessions } from "./sessions.ts";

/** The channel by which a request arrived: the agent's socket, root's socket, loopback, or the network while the page is open there. */
export type Channel = "socket" | "admin" | "loopback" | "lan";

/** Returns whether a request arrived by a unix socket. The mode of the socket's file decides who may use it. */
export function isSocket(channel: Channel): channel is "socket" | "admin" {
  return channel === "socket" || channel === "admin";
}

/** A row in the table of operations. */
export interface LocalOperation extends ServedOperation {
  /** Whether a report made for one page is also sent to other pages that ask for the same within seconds. */
  readonly shared?: boolean;
  readonly runs: Runs;
}

/**
 * The code of an operation, which is loaded at first use. A report is a pure function of reader and query, for one booth or for all, and
 * runs on the reports thread. A control runs on the main thread.
 */
export type Runs<Body = never> =
  | { readonly kind: "booth report"; readonly load: () => Promise<BoothReport> }
  | { readonly kind: "box report"; readonly load: () => Promise<BoxReport> }
  | { readonly kind: "control"; readonly load: () => Promise<Control<Body>> };

export type Control<Body = never> = (call: Call<Body>, services: Services) => LocalAnswer | Promise<LocalAnswer>;

/** A request that was admitted, with the data that an operation needs. */
export interface Call<Body = never> {
  readonly channel: Channel;
  /** The sender of the request, as `senderOf` derives it from the address. */
  readonly sender: string;
  /** The User-Agent header, unchanged. */
  readonly device: string;
  readonly token: string | undefined;
  /** Decoded parameters of the path. */
  readonly params: Readonly<Record<string, string>>;
  /** Query parameters; of a repeated name, the first value. */
  readonly query: Readonly<Record<string, string>>;
  readonly feed: LiveFeed;
  /** Returns whether the request came by a socket or has an open session. Long answers call it repeatedly, because a session ends. */
  readonly sees_all: () => boolean;
  /** Returns the parsed body. Throws a Refusal if the body is invalid. */
  body(): Body;
}

/** An answer. A text body is sent unchanged, any other body as JSON. `writes` writes the whole response itself. */
export type LocalAnswer =
  | { readonly status: number; readonly body: unknown; readonly headers?: Readonly<Record<string, string>> }
  | { readonly writes: (response: Answering) => void | Promise<void> };

/** Headers that close the connection after the answer, for senders that are rejected or send too much. */
export const CLOSING = { Connection: "close" } as const;

export function ok(body: unknown, status = 200): Extract<LocalAnswer, { readonly status: number }> {
  return { status, body };
}

/** An error answer with an HTTP status. Its message tells the sender what to do. */
export class Refusal extends MessageError {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, error: Text, headers: Readonly<Record<string, string>> = {}) {
    super(error);
    this.status = status;
    this.headers = headers;
  }
}

/** Returns the agent's status, including how its page can be reached. */
export function fullStatus({ control, page }: Pick<Services, "control" | "page">): AgentStatus {
  const now = control.status();
  return page === undefined ? now : { ...now, page: page.access() };
}

/** Returns the named booth, or the only one if none is named. Throws a Refusal if no booth fits. */
export function boothOf(control: AgentControl, named: string | undefined): BoothStatus {
  const { booths } = control.status();
  const [only, ...others] = booths;
  const found = named === undefined && others.length === 0 ? only : booths.find(({ booth }) => booth === named);
  if (found === undefined) throw new Refusal(400, message("ask.which_booth"));
  return found;
}

/** Returns a part of the agent that the operation needs. Throws a Refusal if this agent lacks the part. */
export function needed<T>(service: T | undefined, lacks: Text): T {
  if (service === undefined) throw new Refusal(501, lacks);
  return service;
}

/** A line in the agent's log. */
export interface LogLine {
  readonly at: number;
  readonly level: "info" | "warn" | "error";
  readonly text: Text;
}

/** Reads and writes a booth's size and brand at the service. Failures of the service are answers, not rejections. */
export interface BoothFieldsAtService {
  read(booth_id: string): Promise<ServiceAnswer<BoothFieldValues>>;
  write(booth_id: string, fields: Readonly<Record<string, string>>): Promise<ServiceAnswer<BoothFieldValues>>;
}

/** Opens and closes the page for people who may not use the agent's socket. */
export interface PageListener {
  state(): PageState;
  /**
   * Makes a PIN that is valid for `for_ms`. `lan`: also opens the page on the network for this time. Rejects if no port or certificate is
   * available.
   */
  open(how: {
    readonly for_ms: number;
    readonly lan: boolean;
    /** The permanent PIN; absent: a new random one. */
    readonly pin?: string;
  }): Promise<PageState & { readonly pin: string }>;
  access(): PageAccess;
  /** Returns how the page can be reached, as shown to a signed-in device. */
  network(token: string | undefined): PageNetwork;
  /**
   * Opens the page on the network permanently, or closes it. Rejects with a Refusal if the configuration decides otherwise, or if no
   * permanent PIN is set.
   */
  keepOpen(always: boolean): Promise<void>;
  /** Ends a device's session. Returns false if no device has this id. */
  endSession(id: string): boolean;
  close(): void;
}

/** A request to a PLC tool. `operand` and `values` are the arguments of the command with the same name. */
export type PlcWish =
  | {
      readonly tool: "probe" | "detect";
      readonly operand: string;
      readonly values: Readonly<Record<string, string | undefined>>;
    }
  | ({ readonly tool: "find" } & BodyOf<"set_up_find">)
  | ({ readonly tool: "rank" } & BodyOf<"set_up_rank">);

/** The PLC tools. They only read. */
export interface PlcToolbox {
  /**
   * Runs a tool. Rejects with advice for a person, even if the reason is that another tool is running. `progress` gets a line for each
   * step.
   */
  run(
    wish: PlcWish,
    io: { readonly signal: AbortSignal; progress(text: Text): void },
  ): Promise<{ readonly answer: object; readonly text: Text }>;
}

export type WorkshopWish = BodyOf<"workshop_run">;

/** The dialogue with the person at the page while the workshop runs. */
export interface WorkshopIo {
  readonly signal: AbortSignal;
  say(text: Text): void;
  /** Shows rows with aligned columns. Columns of numbers are aligned to the right. */
  table(rows: readonly (readonly (Text | number)[])[]): void;
  progress(text: Text): void;
  /** Asks a question. The reply arrives by `answer`. */
  ask(question: WorkshopQuestion): void;
}

/** A question to the person. With the kind "choose", the reply is the value of a choice. */
export interface WorkshopQuestion {
  readonly question: Text;
  readonly kind: string;
  readonly choices: readonly { readonly value: string; readonly text: Text }[];
}

export interface WorkshopStatus {
  /** Families of profiles that a new profile can be derived from. */
  readonly families: readonly string[];
  readonly profiles: readonly { readonly name: string; readonly tags: number; readonly missing: readonly Text[] }[];
}

/** The result of an action. `list`: the register list made by an export. `preview`: the list that was sent, as an import understands it. */
export interface WorkshopDone {
  readonly ok: boolean;
  readonly list: string | null;
  readonly preview?: object;
}

/** The workshop, which makes the site's own profiles. */
export interface Workshop {
  status(): Promise<WorkshopStatus>;
  /** Stores a register list for the next import. */
  keepList(name: string, bytes: Uint8Array): Promise<void>;
  /** Runs an action of the workshop. Rejects with advice for a person. */
  run(wish: WorkshopWish, io: WorkshopIo): Promise<WorkshopDone>;
  /** Answers the open question. Rejects with a Refusal if no question is open. */
  answer(reply: string): Promise<void>;
}

/** The set-up on the page or in the terminal. Its functions reject with a Refusal for anything impossible. */
export interface SetUpOnSpot {
  status(): Promise<SetUpStatus>;
  saveDraft(draft: SetUpStatus["draft"]): Promise<void>;
  setService(url: string): Promise<void>;
  giveLogin(login: BodyOf<"set_up_login">): Promise<void>;
  /** Tries an entry. Resolves once the entry is in force on trial. */
  tryEntry(entry: BoothEntry): Promise<void>;
  keep(): Promise<void>;
  takeBack(): Promise<void>;
}

/** The parts of the agent that operations use. If a part is absent, its operations answer 501. */
export interface Services {
  readonly control: AgentControl;
  readonly reports?: AskReport;
  readonly rebuilds?: Rebuilds;
  readonly filter_labels?: FilterLabels;
  readonly sessions?: Sessions;
  readonly page?: PageListener;
  /** Stores a report for support. Returns the report's id. */
  readonly storeHelp?: (report: string) => Promise<string>;
  readonly fields?: BoothFieldsAtService;
  readonly plc?: PlcToolbox;
  readonly set_up?: SetUpOnSpot;
  readonly workshop?: Workshop;
  /** Loads the configuration file. Rejects with a Refusal if anything in the file is wrong. */
  readonly reload?: () => Promise<Reloaded>;
  /** Returns the newest lines of the log, oldest first. */
  readonly log?: () => readonly LogLine[];
}
