import type { ServerResponse } from "node:http";
import type { AgentControl } from "../ports.ts";

const EVERY_MS = 1_000;
/** Pages at once; each costs one small text a second, made once for all. */
const MAX_PAGES = 24;
/** A page that doesn't read is dropped before its backlog grows; its browser comes again. */
const MAX_UNREAD_BYTES = 262_144;

/** Server-sent events: the status each second, and the readings of the booth that a page asks for. */
export interface LiveFeed {
  /** Takes the response over; false: too many pages look already. */
  attach(response: ServerResponse, booth: string | null): boolean;
  close(): void;
}

export function createLiveFeed(control: AgentControl): LiveFeed {
  const pages = new Map<ServerResponse, string | null>();
  let timer: NodeJS.Timeout | undefined;
  const detach = (response: ServerResponse): void => {
    pages.delete(response);
    if (pages.size === 0) clearInterval(timer);
  };
  const send = (to: ReadonlyMap<ServerResponse, string | null>): void => {
    const status = eventText("status", control.status());
    // As bytes, once for all pages that ask for the same booth: a text would be encoded anew for each of them.
    const made = new Map<string | null, Buffer>();
    const eventsOf = (booth: string | null): Buffer => {
      const readings = booth === null ? "" : eventText("readings", { booth, readings: control.readings(booth) });
      return Buffer.from(status + readings);
    };
    for (const [response, booth] of to) {
      if (response.writableLength > MAX_UNREAD_BYTES) {
        response.destroy();
        continue;
      }
      const events = made.get(booth) ?? eventsOf(booth);
      made.set(booth, events);
      response.write(events);
    }
  };
  return {
    attach(response, booth) {
      if (pages.size >= MAX_PAGES) return false;
      response.writeHead(200, {
        "Content-Type": "text/event-stream; charset=utf-8",
        "Cache-Control": "no-store",
        "X-Accel-Buffering": "no",
      });
      response.once("close", () => detach(response));
      send(new Map([[response, booth]]));
      if (pages.size === 0) timer = setInterval(() => send(pages), EVERY_MS).unref();
      pages.set(response, booth);
      return true;
    },
    close() {
      clearInterval(timer);
      for (const response of pages.keys()) response.destroy();
      pages.clear();
    },
  };
}

function eventText(event: string, data: unknown): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
