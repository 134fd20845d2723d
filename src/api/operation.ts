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

/** How a request came in: by the agent's socket, by root's, from this machine, or from the network while the page is open there. */
export type Way = "socket" | "admin" | "loopback" | "lan";

/** Through a file of this machine, whose mode says who may. */
export function isSocket(way: Way): way is "socket" | "admin" {
  return way === "socket" || way === "admin";
}

/** One row of the table of operations. */
export interface LocalOperation extends ServedOperation {
  /** A report made for one page serves the others that ask for the same within seconds. */
  readonly shared?: boolean;
  readonly runs: Runs;
}

/**
 * A report is a pure function of reader and query, on the reports' thread, of one booth or of all; a control acts on the main thread.
 * Each is loaded when it is first asked for, and nothing of the other rows with it.
 */
export type Runs<Body = never> =
  | { readonly kind: "booth report"; readonly load: () => Promise<BoothReport> }
  | { readonly kind: "box report"; readonly load: () => Promise<BoxReport> }
  /** It takes the body of its own row alone. */
  | { readonly kind: "control"; readonly load: () => Promise<Control<Body>> };

export type Control<Body = never> = (call: Call<Body>, services: Services) => LocalAnswer | Promise<LocalAnswer>;

/** A request that may be answered, by the row that it matches. */
export interface Call<Body = never> {
  readonly way: Way;
  /** Who sends, as far as an address tells. */
  readonly sender: string;
  /** What the sender's program calls itself, as it came. */
  readonly device: string;
  readonly token: string | undefined;
  /** Of the path, decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** The first of each name. */
  readonly query: Readonly<Record<string, string>>;
  readonly feed: LiveFeed;
  /** By the socket, or a session that is open: asked anew by what goes on, since that ends. */
  readonly sees_all: () => boolean;
  /** What was sent. Throws a Refusal where it can't be read. */
  body(): Body;
}

/** A body that is a text goes as it is, anything else as JSON; or what writes the response itself. */
export type LocalAnswer =
  | { readonly status: number; readonly body: unknown; readonly headers?: Readonly<Record<string, string>> }
  | { readonly writes: (response: Answering) => void | Promise<void> };

/** Headers of an answer that ends the connection: whoever isn't let in, or sends too much, begins anew. */
export const CLOSING = { Connection: "close" } as const;

/** A request that can't be carried out, with what to do about it. */
export class Refusal extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, error: string, headers: Readonly<Record<string, string>> = {}) {
    super(error);
    this.status = status;
    this.headers = headers;
  }
}

/** The agent's status, with what its page's listener knows. */
export function toldStatus({ control, page }: Pick<Services, "control" | "page">): AgentStatus {
  const now = control.status();
  return page === undefined ? now : { ...now, page: page.access() };
}

/** The booth named, or the only one there is. Throws a Refusal. */
export function boothOf(control: AgentControl, named: string | undefined): BoothStatus {
  const { booths } = control.status();
  const [only, ...others] = booths;
  const found = named === undefined && others.length === 0 ? only : booths.find(({ booth }) => booth === named);
  if (found === undefined) throw new Refusal(400, "name the booth: this gateway serves several, or none of that name");
  return found;
}

/** What the operation needs. Throws a Refusal where this agent has none. */
export function needed<T>(service: T | undefined, lacks: string): T {
  if (service === undefined) throw new Refusal(501, lacks);
  return service;
}

export type Entry =
  /** `is_kept`: it outlives tab and restart. */
  | { readonly kind: "open"; readonly token: string; readonly for_ms: number; readonly is_kept: boolean }
  | { readonly kind: "wrong"; readonly left: number }
  | { readonly kind: "locked"; readonly for_ms: number }
  /** Not looked at: too many PINs come at once, from whomever. */
  | { readonly kind: "busy"; readonly for_ms: number }
  /** Nobody has asked for a PIN, or its time is over. */
  | { readonly kind: "closed" };

/** The PINs in force and the sessions opened with them. A PIN is never stored, and never logged. */
export interface Sessions {
  /** A new PIN in the place of the old one, for so long; sessions of the old one end, and every lock is lifted. */
  open(for_ms: number, pin?: string): string;
  /** No PIN, no session any more. */
  close(): void;
  /** Beside it a PIN that holds for ever, whose sessions are kept; null: none any more, and their sessions end. */
  stand(pin: string | null): void;
  /** How long the PIN that was made holds; null: there is none. */
  left_ms(): number | null;
  enter(pin: string, from: { readonly sender: string; readonly way: Way; readonly device?: string }): Entry;
  holds(token: string | undefined): boolean;
}

/** One line of the agent's log, for people. */
export interface LogLine {
  readonly at: number;
  readonly level: "info" | "warn" | "error";
  readonly text: string;
}

/** Size and brand of a booth at the service. Never rejects for what the service does. */
export interface BoothFieldsAtService {
  read(booth_id: string): Promise<ServiceAnswer<BoothFieldValues>>;
  write(booth_id: string, fields: Readonly<Record<string, string>>): Promise<ServiceAnswer<BoothFieldValues>>;
}

/** Opens and closes what people outside of the socket's group may use. */
export interface PageListener {
  state(): PageState;
  /** A new PIN for `for_ms`; `lan`: and the page on the network for as long. Rejects where no port or certificate can be had. */
  open(how: {
    readonly for_ms: number;
    readonly lan: boolean;
    /** One set beforehand; absent: a new one. */
    readonly pin?: string;
  }): Promise<PageState & { readonly pin: string }>;
  access(): PageAccess;
  /** What the page tells of it to whoever is signed in. */
  network(token: string | undefined): PageNetwork;
  /** Stays open on the network, or not any more. Rejects with a Refusal where the configuration decides, or no PIN is set beforehand. */
  keepOpen(always: boolean): Promise<void>;
  /** false: there is no such device. */
  endSession(id: string): boolean;
  close(): void;
}

/** What a tool at the PLC is wanted for. `operand` and `values` are those of the command of that name. */
export type PlcWish =
  | {
      readonly tool: "probe" | "detect";
      readonly operand: string;
      readonly values: Readonly<Record<string, string | undefined>>;
    }
  | ({ readonly tool: "find" } & BodyOf<"set_up_find">)
  | ({ readonly tool: "rank" } & BodyOf<"set_up_rank">);

/** The tools at the PLC that only read. */
export interface PlcToolbox {
  /**
   * Rejects with what a person can do about it, also where a tool is at work already. `progress` gets a line for each step. */
  run(
    wish: PlcWish,
    io: { readonly signal: AbortSignal; progress(text: string): void },
  ): Promise<{ readonly answer: object; readonly text: string }>;
}

export type WorkshopWish = BodyOf<"workshop_run">;

/** Who stands before the page while the workshop is at work. */
export interface WorkshopIo {
  readonly signal: AbortSignal;
  say(text: string): void;
  progress(text: string): void;
  /** The reply comes by `answer`. */
  ask(question: WorkshopQuestion): void;
}

/** `kind` "choose": the reply is the value of one of the choices, whose `text` explains it. */
export interface WorkshopQuestion {
  readonly question: string;
  readonly kind: string;
  readonly choices: readonly { readonly value: string; readonly text: string }[];
}

export interface WorkshopStatus {
  /** What a new one may begin from. */
  readonly families: readonly string[];
  readonly profiles: readonly { readonly name: string; readonly tags: number; readonly missing: readonly string[] }[];
}

/** Profiles of one's own, made on the spot. */
export interface Workshop {
  status(): Promise<WorkshopStatus>;
  /** A register list for the next import. */
  keepList(name: string, text: string): Promise<void>;
  /** Rejects with what a person can do about it. `list`: of an export. */
  run(wish: WorkshopWish, io: WorkshopIo): Promise<{ readonly ok: boolean; readonly list: string | null }>;
  /** Rejects with a Refusal where nothing is asked. */
  answer(reply: string): Promise<void>;
}

/** The set-up on the spot. What can't be is rejected with a Refusal. */
export interface SetUpOnSpot {
  status(): Promise<SetUpStatus>;
  saveDraft(draft: SetUpStatus["draft"]): Promise<void>;
  setService(url: string): Promise<void>;
  giveLogin(login: BodyOf<"set_up_login">): Promise<void>;
  /** The entry is in force, on trial, once it resolves. */
  tryEntry(entry: BoothEntry): Promise<void>;
  keep(): Promise<void>;
  takeBack(): Promise<void>;
}

/** What the local server answers from; what is absent answers 501. */
export interface Services {
  readonly control: AgentControl;
  readonly reports?: AskReport;
  readonly rebuilds?: Rebuilds;
  readonly filter_labels?: FilterLabels;
  readonly sessions?: Sessions;
  readonly page?: PageListener;
  /** Keeps a report for whoever helps. Returns its id. */
  readonly storeHelp?: (report: string) => Promise<string>;
  readonly fields?: BoothFieldsAtService;
  readonly plc?: PlcToolbox;
  readonly set_up?: SetUpOnSpot;
  readonly workshop?: Workshop;
  /** Takes the configuration's file into use as it is now. Rejects with a Refusal where something in it is wrong. */
  readonly reload?: () => Promise<Reloaded>;
  /** Newest last. */
  readonly log?: () => readonly LogLine[];
}
