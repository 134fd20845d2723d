import { setImmediate as turn } from "node:timers/promises";
import type { AgentControl } from "../domain/agent-control.ts";
import type { AgentStatus } from "../domain/status.ts";
import type { BoothId } from "../domain/units.ts";
import type { Answering } from "./over-tls.ts";
import { withSaid } from "./said.ts";

const EVERY_MS = 1_000;
/** Pages at once; each costs one small text a second, made once for all. */
const MAX_PAGES = 24;
/** Of one sender: several people may come through one tunnel. */
const MAX_PAGES_EACH = 20;
/** A page that doesn't read is dropped before its backlog grows; its browser comes again. */
const MAX_UNREAD_BYTES = 262_144;

export type LiveFeed = ReturnType<typeof createLiveFeed>;

/** What a page looks at. */
interface LiveView {
  readonly sender: string;
  /** Whose readings it wants; null: the first one's. */
  readonly booth: BoothId | null;
  /** Sentences with their codes. */
  readonly said: boolean;
  /** What it may see; asked each time, since a session ends. */
  readonly sees: () => "all" | "status" | "nothing";
}

/** Server-sent events: the status each second, and the readings of the booth that a page asks for, or of the first. */
export function createLiveFeed(control: AgentControl, told: () => AgentStatus) {
  const pages = new Map<Answering, LiveView>();
  let timer: NodeJS.Timeout | undefined;
  const detach = (response: Answering): void => {
    pages.delete(response);
    if (pages.size === 0) clearInterval(timer);
  };
  const send = async (to: ReadonlyMap<Answering, LiveView>): Promise<void> => {
    const now = told();
    const [status, statusSaid] = [once(() => eventText("status", now)), once(() => eventText("status", withSaid(now)))];
    // As bytes, once for all pages that see the same: a text would be encoded anew for each of them.
    const made = new Map<string, Buffer>();
    const eventsFor = ({ booth, said }: LiveView, sees: "all" | "status"): Buffer => {
      const first = said ? statusSaid() : status();
      // A booth that was set up on trial may be gone again.
      const shown = booth === null ? now.booths[0] : now.booths.find((one) => one.booth === booth);
      if (shown === undefined) return Buffer.from(first);
      // null: there are some, for who has a session.
      const readings = sees === "all" ? control.readings(shown.booth) : null;
      return Buffer.from(first + eventText("readings", { booth: shown.booth, readings }));
    };
    for (const [response, view] of to) {
      const sees = view.sees();
      if (sees === "nothing" || response.writableLength > MAX_UNREAD_BYTES) {
        response.destroy();
        continue;
      }
      const key = JSON.stringify([view.booth, view.said, sees]);
      const events = made.get(key) ?? eventsFor(view, sees);
      made.set(key, events);
      response.write(events);
      // Twenty writes take some milliseconds, and a poll waits for no more than one.
      await turn();
    }
  };
  return {
    /** Takes the response over; false: too many pages look already. */
    attach(response: Answering, view: LiveView): boolean {
      const own = [...pages.values()].filter(({ sender }) => sender === view.sender);
      if (pages.size >= MAX_PAGES || own.length >= MAX_PAGES_EACH) return false;
      response.writeHead(200, {
        "Content-Type": "text/event-stream; charset=utf-8",
        "Cache-Control": "no-store",
        "X-Accel-Buffering": "no",
      });
      response.once("close", () => detach(response));
      void send(new Map([[response, view]]));
      if (pages.size === 0) timer = setInterval(() => void send(pages), EVERY_MS).unref();
      pages.set(response, view);
      return true;
    },
    close(): void {
      clearInterval(timer);
      for (const response of pages.keys()) response.destroy();
      pages.clear();
    },
  };
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

function eventText(event: string, data: unknown): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
