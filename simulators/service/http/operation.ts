import type { z } from "zod";
import type { Db } from "../storage/db.ts";
import type { Caller, Scope } from "../accounts/keys.ts";

/** The service's parts for operations. */
export interface Service {
  readonly db: Db;
  /** The service's own clock, epoch ms. */
  readonly now: () => number;
  /**
   * URL of the broker for gateways; empty at plain level. Several are separated by spaces, and each gateway gets one
   * of them.
   */
  readonly mqttUrl: () => string;
  /** URL of the same broker over WebSocket. Absent: not available. */
  readonly mqttWsUrl?: () => string;
  /** Offers only what the interface document states and what was observed; no generation, acks or broker. */
  readonly plain: boolean;
  /**
   * At plain level: rejects everything that the document doesn't require, such as a second record of a booth and
   * unknown fields.
   */
  readonly strict?: boolean;
  /** Maximum age in ms of the total running time in a booth's record; absent: computed whenever the log has grown. */
  readonly runtime_max_age_ms?: number;
  /** Reports over more booths than this are made from facts, if available. Absent: a hundred. */
  readonly few_booths?: number;
}

export interface Call {
  readonly service: Service;
  readonly caller: Caller;
  readonly now: number;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: unknown;
  /** Network address of the client, as the trusted proxies state it; "": none. */
  readonly address: string;
}

/** An answer. `body` undefined: no content. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A row of the table of routes. `scopes` absent: every valid key may call it. */
export interface Operation {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path with :name for path parameters. Fixed paths take precedence. */
  readonly path: string;
  readonly scopes?: readonly Scope[];
  /** Schema of the JSON body; the handler parses the body with this schema too. */
  readonly body?: z.ZodType;
  /** The operation reads whole logs of booths, so it runs on another thread than ingest. */
  readonly is_report?: boolean;
  /** Whether the operation hashes a password for this body. Such operations run one after another. */
  readonly hashes?: (body: unknown) => boolean;
  /** Headers of every successful answer. */
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Throws an HttpError, or rejects with one, for every error answer. Promises are only for slow work: passwords, and
   * reports over many booths.
   */
  readonly handle: (call: Call) => Answer | Promise<Answer>;
}

export const NO_CONTENT: Answer = { status: 204, body: undefined };

export function created(body: unknown): Answer {
  return { status: 201, body };
}

export function ok(body: unknown): Answer {
  return { status: 200, body };
}
