import { setImmediate as turn } from "node:timers/promises";
import type { AgentControl } from "../domain/agent-control.ts";
import type { AgentStatus } from "../domain/status.ts";
import type { BoothId, Milliseconds } from "../domain/units.ts";
import { monotonicMs } from "../monotonic.ts";
import type { Answering } from "./over-tls.ts";
import { withSaid } from "./said.ts";
import { HESITATES_MS, longestStalled, noteReading, type Reading, STALLED_MS, type Watch } from "./stalls.ts";

const EVERY_MS = 1_000;
/** Pages at once; each costs one small text a second, made once for all. */
const MAX_PAGES = 24;
/** Of one sender: several people may come through one tunnel. */
const MAX_PAGES_EACH = 20;
/** A page that doesn't read is dropped before its backlog grows; its browser comes again. */
const MAX_UNREAD_BYTES = 262_144;

export type LiveFeed = ReturnType<typeof createLiveFeed>;

/** A page, and how it reads. */
interface LivePage extends Reading {
  readonly response: Answering;
  readonly view: LiveView;
}

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

/**
 * Server-sent events: the status each second, and the readings of the booth that a page asks for, or of the first. A page that reads
 * nothing for `STALLED_MS` ends. If there are too many pages, the one that has read nothing for longest makes room for a new one, else
 * the oldest of the sender with most pages.
 */
export function createLiveFeed(control: AgentControl, told: () => AgentStatus, mono: Watch["mono"] = monotonicMs) {
  const pages = new Map<Answering, LivePage>();
  let timer: NodeJS.Timeout | undefined;
  const detach = (response: Answering): void => {
    pages.delete(response);
    if (pages.size === 0) clearInterval(timer);
  };
  const send = async (to: readonly LivePage[]): Promise<void> => {
    const now = told();
    const status = once(() => eventText("status", now));
    const statusSaid = once(() => eventText("status", withSaid(now)));
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
    for (const page of to) {
      const { response, view } = page;
      if (pages.get(response) !== page) continue;
      const sees = view.sees();
      noteReading(page, { unread: response.writableLength, flushed: 0 }, mono());
      const isStalled = response.writableLength > MAX_UNREAD_BYTES || mono() - page.took_at >= STALLED_MS;
      if (sees === "nothing" || isStalled) {
        response.destroy();
        continue;
      }
      const key = JSON.stringify([view.booth, view.said, sees]);
      const events = made.get(key) ?? eventsFor(view, sees);
      made.set(key, events);
      response.write(events);
      // What is written now is unread until the next look.
      page.unread = response.writableLength;
      // Twenty writes take some milliseconds, and a poll waits for no more than one.
      await turn();
    }
  };
  return {
    /** Takes the response over; false: too many pages look already. */
    attach(response: Answering, view: LiveView): boolean {
      const leaver = leaverOf([...pages.values()], view.sender, mono());
      if (leaver === "nobody") return false;
      if (leaver !== null) {
        leaver.response.destroy();
        detach(leaver.response);
      }
      response.writeHead(200, {
        "Content-Type": "text/event-stream; charset=utf-8",
        "Cache-Control": "no-store",
        "X-Accel-Buffering": "no",
      });
      response.once("close", () => detach(response));
      const page = { response, view, unread: 0, flushed: 0, took_at: mono() };
      if (pages.size === 0) timer = setInterval(() => void send([...pages.values()]), EVERY_MS).unref();
      pages.set(response, page);
      void send([page]);
      return true;
    },
    close(): void {
      clearInterval(timer);
      for (const response of pages.keys()) response.destroy();
      pages.clear();
    },
  };
}

/** The page that makes room for a new one of that sender; null: there is room; "nobody": all are being read. */
function leaverOf(pages: readonly LivePage[], sender: string, now: Milliseconds): LivePage | null | "nobody" {
  const own = pages.filter(({ view }) => view.sender === sender);
  const crowd = own.length >= MAX_PAGES_EACH ? own : pages;
  if (crowd === pages && pages.length < MAX_PAGES) return null;
  const stalled = longestStalled(crowd, { now, over_ms: HESITATES_MS });
  if (stalled !== undefined) return stalled;
  const crowds = [...Map.groupBy(crowd, ({ view }) => view.sender).values()];
  const [largest = []] = crowds.sort((one, other) => other.length - one.length);
  return (largest.length > own.length ? largest[0] : undefined) ?? "nobody";
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

function eventText(event: string, data: unknown): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
