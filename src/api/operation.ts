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

/** How a request arrived: by the agent's socket, by root's socket, over loopback, or from the network while the page is open there. */
export type Way = "socket" | "admin" | "loopback" | "lan";

/** Whether a request arrived by a socket, whose file mode decides who may use it. */
export function isSocket(way: Way): way is "socket" | "admin" {
  return way === "socket" || way === "admin";
}

/** A row of the table of operations. */
export interface LocalOperation extends ServedOperation {
  /** A report made for one page is sent to others that ask for the same within seconds. */
  readonly shared?: boolean;
  readonly runs: Runs;
}

/**
 * The code of an operation, which is loaded when it is first needed. A report is a pure function of reader and query, for one booth or
 * all; it runs on the reports thread. A control runs on the main thread.
 */
export type Runs<Body = never> =
  | { readonly kind: "booth report"; readonly load: () => Promise<BoothReport> }
  | { readonly kind: "box report"; readonly load: () => Promise<BoxReport> }
  | { readonly kind: "control"; readonly load: () => Promise<Control<Body>> };

export type Control<Body = never> = (call: Call<Body>, services: Services) => LocalAnswer | Promise<LocalAnswer>;

/** A request that may be answered, for the row that it matches. */
export interface Call<Body = never> {
  readonly way: Way;
  /** The sender by its address (`senderOf`). */
  readonly sender: string;
  /** The name of the sender's program, as it arrived. */
  readonly device: string;
  readonly token: string | undefined;
  /** Parameters of the path, decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** The first value of each name. */
  readonly query: Readonly<Record<string, string>>;
  readonly feed: LiveFeed;
  /** Whether the request came by a socket or has an open session. Long answers ask again, because a session ends. */
  readonly sees_all: () => boolean;
  /** Returns the body. Throws a Refusal if it can't be read. */
  body(): Body;
}

/** An answer: a text body is sent as it is, any other as JSON. `writes` writes the response itself. */
export type LocalAnswer =
  | { readonly status: number; readonly body: unknown; readonly headers?: Readonly<Record<string, string>> }
  | { readonly writes: (response: Answering) => void | Promise<void> };

/** Headers of an answer that ends the connection, for senders that are not let in or send too much. */
export const CLOSING = { Connection: "close" } as const;

/** Returns whether the request asks for the codes and values of the messages in the answer. */
export function wantsMessages(query: Readonly<Record<string, string>>): boolean {
  return query["said"] === "true";
}

export function ok(body: unknown, status = 200): Extract<LocalAnswer, { readonly status: number }> {
  return { status, body };
}

/** An error whose message tells the sender what to do. */
export class Refusal extends MessageError {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, error: Text, headers: Readonly<Record<string, string>> = {}) {
    super(error);
    this.status = status;
    this.headers = headers;
  }
}

/** Returns the agent's status, with the access to its page. */
export function fullStatus({ control, page }: Pick<Services, "control" | "page">): AgentStatus {
  const now = control.status();
  return page === undefined ? now : { ...now, page: page.access() };
}

/** Returns the named booth, or the only one. Throws a Refusal. */
export function boothOf(control: AgentControl, named: string | undefined): BoothStatus {
  const { booths } = control.status();
  const [only, ...others] = booths;
  const found = named === undefined && others.length === 0 ? only : booths.find(({ booth }) => booth === named);
  if (found === undefined) throw new Refusal(400, message("ask.which_booth"));
  return found;
}

/** Returns a service that the operation needs. Throws a Refusal if this agent has none. */
export function needed<T>(service: T | undefined, lacks: Text): T {
  if (service === undefined) throw new Refusal(501, lacks);
  return service;
}

/** A line of the agent's log. */
export interface LogLine {
  readonly at: number;
  readonly level: "info" | "warn" | "error";
  readonly text: Text;
}

/** Size and brand of a booth at the service. Never rejects because of the service. */
export interface BoothFieldsAtService {
  read(booth_id: string): Promise<ServiceAnswer<BoothFieldValues>>;
  write(booth_id: string, fields: Readonly<Record<string, string>>): Promise<ServiceAnswer<BoothFieldValues>>;
}

/** Opens and closes the page for people outside of the socket's group. */
export interface PageListener {
  state(): PageState;
  /** Makes a PIN for `for_ms`; `lan` opens the page on the network for as long. Rejects if no port or certificate is available. */
  open(how: {
    readonly for_ms: number;
    readonly lan: boolean;
    /** A PIN that was set beforehand; absent: a new one. */
    readonly pin?: string;
  }): Promise<PageState & { readonly pin: string }>;
  access(): PageAccess;
  /** Returns the access as a signed-in device sees it. */
  network(token: string | undefined): PageNetwork;
  /** Keeps the page open on the network, or ends that. Rejects with a Refusal if the configuration decides, or if no PIN is set beforehand. */
  keepOpen(always: boolean): Promise<void>;
  /** Returns false if no device has this id. */
  endSession(id: string): boolean;
  close(): void;
}

/** A request to a tool at the PLC. `operand` and `values` are those of the command of that name. */
export type PlcWish =
  | {
      readonly tool: "probe" | "detect";
      readonly operand: string;
      readonly values: Readonly<Record<string, string | undefined>>;
    }
  | ({ readonly tool: "find" } & BodyOf<"set_up_find">)
  | ({ readonly tool: "rank" } & BodyOf<"set_up_rank">);

/** The tools at the PLC, which only read. */
export interface PlcToolbox {
  /** Rejects with what a person can do, also if another tool is running. `progress` gets a line for each step. */
  run(
    wish: PlcWish,
    io: { readonly signal: AbortSignal; progress(text: Text): void },
  ): Promise<{ readonly answer: object; readonly text: Text }>;
}

export type WorkshopWish = BodyOf<"workshop_run">;

/** The person at the page while the workshop runs. */
export interface WorkshopIo {
  readonly signal: AbortSignal;
  say(text: Text): void;
  /** Shows rows, each cell in its column; columns with numbers to the right. */
  table(rows: readonly (readonly (Text | number)[])[]): void;
  progress(text: Text): void;
  /** The reply arrives by `answer`. */
  ask(question: WorkshopQuestion): void;
}

/** A question to the person. `kind` "choose": the reply is the value of one of the choices. */
export interface WorkshopQuestion {
  readonly question: Text;
  readonly kind: string;
  readonly choices: readonly { readonly value: string; readonly text: Text }[];
}

export interface WorkshopStatus {
  /** Families that a new profile may start from. */
  readonly families: readonly string[];
  readonly profiles: readonly { readonly name: string; readonly tags: number; readonly missing: readonly Text[] }[];
}

/** The workshop for the site's own profiles. */
export interface Workshop {
  status(): Promise<WorkshopStatus>;
  /** Keeps a register list for the next import. */
  keepList(name: string, text: string): Promise<void>;
  /** Rejects with what a person can do. `list`: the register list of an export. */
  run(wish: WorkshopWish, io: WorkshopIo): Promise<{ readonly ok: boolean; readonly list: string | null }>;
  /** Rejects with a Refusal if no question is open. */
  answer(reply: string): Promise<void>;
}

/** The set-up by the page or the terminal. Rejects with a Refusal for what is not possible. */
export interface SetUpOnSpot {
  status(): Promise<SetUpStatus>;
  saveDraft(draft: SetUpStatus["draft"]): Promise<void>;
  setService(url: string): Promise<void>;
  giveLogin(login: BodyOf<"set_up_login">): Promise<void>;
  /** Resolves once the entry is in force on trial. */
  tryEntry(entry: BoothEntry): Promise<void>;
  keep(): Promise<void>;
  takeBack(): Promise<void>;
}

/** The parts of the agent that operations use. Operations of an absent part answer 501. */
export interface Services {
  readonly control: AgentControl;
  readonly reports?: AskReport;
  readonly rebuilds?: Rebuilds;
  readonly filter_labels?: FilterLabels;
  readonly sessions?: Sessions;
  readonly page?: PageListener;
  /** Stores a report for support. Returns its id. */
  readonly storeHelp?: (report: string) => Promise<string>;
  readonly fields?: BoothFieldsAtService;
  readonly plc?: PlcToolbox;
  readonly set_up?: SetUpOnSpot;
  readonly workshop?: Workshop;
  /** Loads the configuration's file. Rejects with a Refusal if anything in it is wrong. */
  readonly reload?: () => Promise<Reloaded>;
  /** Returns the newest lines of the log, in order of time. */
  readonly log?: () => readonly LogLine[];
}
