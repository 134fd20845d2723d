import { rendered } from "../domain/messages/render.ts";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { AgentControl } from "../domain/agent-control.ts";
import type { AgentStatus } from "../domain/status.ts";
import type { BoothId, Milliseconds } from "../domain/units.ts";
import { monotonicMs } from "../monotonic.ts";
import type { Answering } from "./over-tls.ts";
import { leaverFor, noteReading, type Reading, STALLED_MS } from "./stalls.ts";

const EVERY_MS: Milliseconds = 1_000;
/** Open pages. Each gets one small text a second, made once for all. Several people may share one sender's tunnel. */
const PAGES = { total: 24, each: 20 };
/** A page that doesn't read is dropped before its backlog grows; its browser reconnects. */
const MAX_UNREAD_BYTES = 262_144;

export type LiveFeed = ReturnType<typeof createLiveFeed>;

/** The part of the status that a page shows. */
interface LiveView {
  readonly sender: string;
  /** The booth whose readings it shows; null: the first one. */
  readonly booth: BoothId | null;
  /** Whether messages are sent with their codes and values. */
  readonly said: boolean;
  /** Returns the data the page may see now; its session may have ended. */
  readonly sees: () => "all" | "status" | "nothing";
}

interface LivePage extends Reading {
  readonly sender: string;
  readonly response: Answering;
  readonly view: LiveView;
}

/**
 * Server-sent events: each second the status, and the readings of one booth. A page that reads nothing for `STALLED_MS` ends. If there
 * are too many pages, one makes room for a new one (`leaverFor`).
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
    // A booth that was set up on trial may be gone again.
    const shown = booth === null ? now.booths[0] : now.booths.find((one) => one.booth === booth);
    if (shown === undefined) return Buffer.from(first);
    // null: a session is needed to see them.
    const readings = withReadings ? control.readings(shown.booth) : null;
    return Buffer.from(first + eventText("readings", rendered({ booth: shown.booth, readings }, { said })));
  };
  const send = async (to: readonly LivePage[]): Promise<void> => {
    const now = status();
    // Encoded once for all pages that see the same.
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
      // These bytes are unread until the next look.
      page.unread = response.writableLength;
      // Twenty writes take some milliseconds, and a poll may wait for one at most.
      await nextTurn();
    }
  };
  return {
    /** Takes the response over. Returns false if there are too many pages. */
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
