import { rendered } from "../domain/messages/render.ts";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { AgentControl } from "../domain/agent-control.ts";
import type { AgentStatus } from "../domain/status.ts";
import type { BoothId, Milliseconds } from "../domain/units.ts";
import { monotonicMs } from "../monotonic.ts";
import type { Answering } from "./over-tls.ts";
import { leaverFor, noteReading, type Reading, STALLED_MS } from "./stalls.ts";

const EVERY_MS: Milliseconds = 1_000;
/**
 * Maximum number of open pages. Each gets one small text a second, which is made once for all. `each` is high because several people may
 * share one tunnel.
 */
const PAGES = { total: 24, each: 20 };
/** Maximum backlog of a page that doesn't read. Such a page is dropped before it takes more memory; its browser reconnects. */
const MAX_UNREAD_BYTES = 262_144;

export type LiveFeed = ReturnType<typeof createLiveFeed>;

/** The part of the live data that a page asks for. */
interface LiveView {
  readonly sender: string;
  /** The booth whose readings the page shows; null: the first one. */
  readonly booth: BoothId | null;
  /** Whether the page wants messages with their codes and values. */
  readonly said: boolean;
  /** Returns the data that the page may see now. Less is visible once the page's session has ended. */
  readonly sees: () => "all" | "status" | "nothing";
}

interface LivePage extends Reading {
  readonly sender: string;
  readonly response: Answering;
  readonly view: LiveView;
}

/**
 * Streams server-sent events: each second the status and the readings of one booth. A page that receives nothing for `STALLED_MS` is
 * disconnected. If there are too many pages, a new page replaces another one (`leaverFor`).
 */
export function createLiveFeed(
  control: AgentControl,
  status: () => AgentStatus,
  mono: () => Milliseconds = monotonicMs,
) {
  const pages = new Map<Answering, LivePage>();
  let timer: NodeJS.Timeout | undefined;
  const detach = (response: Answering): void => {
    pages.delete(response);
    if (pages.size === 0) clearInterval(timer);
  };
  const eventsFor = (now: AgentStatus, { booth, said }: LiveView, { first = "", withReadings = false }): Buffer => {
    // Allows for a missing booth, because a set-up on trial can be reverted.
    const shown = booth === null ? now.booths[0] : now.booths.find((one) => one.booth === booth);
    if (shown === undefined) return Buffer.from(first);
    // Sends null instead of readings to a page without a session.
    const readings = withReadings ? control.readings(shown.booth) : null;
    return Buffer.from(first + eventText("readings", rendered({ booth: shown.booth, readings }, { said })));
  };
  const send = async (to: readonly LivePage[]): Promise<void> => {
    const now = status();
    // Encoded events, shared by all pages with the same view and rights.
    const made = new Map<string, Buffer>();
    const statuses = new Map<boolean, string>();
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
      const first = statuses.get(view.said) ?? eventText("status", rendered(now, { said: view.said }));
      statuses.set(view.said, first);
      const events = made.get(key) ?? eventsFor(now, view, { first, withReadings: sees === "all" });
      made.set(key, events);
      response.write(events);
      // Counts the new bytes as unread, so that the next check notices only real progress.
      page.unread = response.writableLength;
      // Yields after each write: twenty writes take some milliseconds, and a poll must not wait for more than one.
      await nextTurn();
    }
  };
  return {
    /** Answers a request with the stream. Returns false if there are too many pages. */
    attach(response: Answering, view: LiveView): boolean {
      const leaver = leaverFor(view.sender, [...pages.values()], { ...PAGES, now: mono() });
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
      const page = { sender: view.sender, response, view, unread: 0, flushed: 0, took_at: mono() };
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

function eventText(event: string, data: unknown): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}
