import type { PageState } from "./port.ts";
import type { ServiceAnswer } from "../domain/service.ts";
import type { BoothFieldValues } from "../contract/booth-fields.ts";
import type { AgentControl } from "../domain/agent-control.ts";
import type { Rebuilds } from "../store/port.ts";
import type { Sessions } from "./sessions.ts";
import type { AskReport } from "./report-route.ts";

/** One line of the agent's log, for people. */
export interface LogLine {
  readonly at: number;
  readonly level: "info" | "warn" | "error";
  readonly text: string;
}

/** Where reports for whoever helps are kept. */
export interface HelpBox {
  /** Returns its id. */
  store(report: string): Promise<string>;
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
  close(): void;
}

export type PlcTool = "probe" | "detect";

/** The tools at the PLC that only read. */
export interface PlcToolbox {
  /**
   * Rejects with what a person can do about it, also where a tool is at work already. `operand` and `values` are those of the
   * command of that name; `progress` gets a line for each step.
   */
  run(
    wish: {
      readonly tool: PlcTool;
      readonly operand: string;
      readonly values: Readonly<Record<string, string | undefined>>;
    },
    io: { readonly signal: AbortSignal; progress(text: string): void },
  ): Promise<{ readonly answer: object; readonly text: string }>;
}

/** What the local server answers from; what is absent answers 501. */
export interface MoreServices {
  readonly reports?: AskReport;
  readonly rebuilds?: Rebuilds;
  readonly desk?: Sessions;
  readonly door?: PageListener;
  readonly help?: HelpBox;
  readonly fields?: BoothFieldsAtService;
  readonly plc?: PlcToolbox;
  /** Newest last. */
  readonly log?: () => readonly LogLine[];
}

export type Services = MoreServices & { readonly control: AgentControl };
