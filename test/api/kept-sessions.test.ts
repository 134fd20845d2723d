import { describe, expect, it } from "vitest";
import { createSessions } from "../../src/api/sessions.ts";
import { createKeptSessions } from "../../src/api/kept-sessions.ts";
import { DAY_MS } from "../../src/domain/time.ts";

const PIN = "1234 5678";

/** Sessions with a file in memory and clocks that the test moves. */
function box(text: string | null = null) {
  const held = { text, writes: 0, wall: 1_000 * DAY_MS, mono: 0, broken: false };
  const file = {
    read: () => held.text,
    write(next: string): void {
      held.writes += 1;
      if (held.broken) throw new Error("ENOSPC");
      held.text = next;
    },
  };
  const kept = createKeptSessions({ file, wall: () => held.wall });
  const sessions = createSessions(() => held.mono, kept);
  sessions.setPermanent(PIN);
  const enter = (pin: string, sender = "192.0.2.1") => sessions.enter(pin, { sender, channel: "lan", device: "Phone" });
  const open = (): string => {
    const entry = enter(PIN);
    if (entry.kind !== "open") throw new Error(entry.kind);
    return entry.token;
  };
  return { held, kept, sessions, enter, open };
}

describe("a session of the permanently open web page", () => {
  it("survives a restart and expires after exactly 30 days, and its token is not in the session file", () => {
    const one = box();
    const token = one.open();
    expect(one.held.text).not.toContain(token);
    const later = box(one.held.text);
    later.held.wall += 30 * DAY_MS - 1;
    expect([later.sessions.isOpen(token), later.sessions.isOpen(`${token}x`)]).toEqual([true, false]);
    later.held.wall += 1;
    expect(later.sessions.isOpen(token)).toBe(false);
    expect(later.kept.list(undefined)).toEqual([]);
  });

  it("can be ended alone, and ends with all other sessions when the page is no longer permanently open", () => {
    const { kept, sessions, open, held } = box();
    const one = open();
    const two = open();
    const three = open();
    const own = kept.list(two).find(({ is_own }) => is_own);
    expect(kept.list(two).filter(({ is_own }) => is_own)).toHaveLength(1);
    expect(kept.end(own?.id ?? "")).toBe(true);
    expect(kept.end(own?.id ?? "")).toBe(false);
    expect([one, two, three].map((token) => sessions.isOpen(token))).toEqual([true, false, true]);
    sessions.setPermanent(null);
    expect([one, three].map((token) => sessions.isOpen(token))).toEqual([false, false]);
    expect(box(held.text).sessions.isOpen(one)).toBe(false);
  });

  it("stays valid when a temporary PIN expires, although the sessions opened with that PIN end", () => {
    const { sessions, open, held } = box();
    const token = open();
    const pin = sessions.open(60_000);
    const timed = sessions.enter(pin, { sender: "192.0.2.9", channel: "lan" });
    expect(timed).toMatchObject({ kind: "open", for_ms: 60_000, is_kept: false });
    held.mono += 60_000;
    expect(timed.kind === "open" && sessions.isOpen(timed.token)).toBe(false);
    sessions.close();
    expect(sessions.isOpen(token)).toBe(true);
  });

  it("is invalid while the clock shows a time more than a day before the session was opened", () => {
    const { sessions, open, held } = box();
    const token = open();
    held.wall -= DAY_MS;
    expect(sessions.isOpen(token)).toBe(true);
    held.wall -= 1;
    expect(sessions.isOpen(token)).toBe(false);
  });

  it("is ended by the opening of a 41st session if it is the least recently used session", () => {
    const { sessions, open, held } = box();
    const tokens = Array.from({ length: 41 }, () => {
      held.wall += 600_000;
      held.mono += 600_000;
      return open();
    });
    expect(tokens.map((token) => sessions.isOpen(token)).indexOf(true)).toBe(1);
  });

  it("stores the time of its last use at most once in six hours", () => {
    const { sessions, open, held } = box();
    const token = open();
    const before = held.writes;
    for (let hour = 0; hour < 24; hour += 1) {
      held.wall += DAY_MS / 24;
      for (let ask = 0; ask < 50; ask += 1) sessions.isOpen(token);
    }
    expect(held.writes - before).toBe(4);
  });
});

it.each(["", "{", "[]", '{"version":2,"sessions":[]}', '{"version":1,"sessions":[{"id":"x"}]}'])(
  "a session file that contains %j restores no session, and new sessions can be opened",
  (text) => {
    const { kept, open, sessions } = box(text);
    expect(kept.count()).toBe(0);
    expect(sessions.isOpen(open())).toBe(true);
  },
);

it("a new session is valid until the next restart if the disk is full", () => {
  const { sessions, open, held } = box();
  held.broken = true;
  const token = open();
  expect(sessions.isOpen(token)).toBe(true);
  expect(box(held.text).sessions.isOpen(token)).toBe(false);
});

it("the permanent PIN can be guessed 20 times in a row and then once in ten minutes, from all addresses together", () => {
  const { enter, held } = box();
  const kinds: string[] = [];
  for (let minute = 0; minute < 6 * 60; minute += 1) {
    held.mono += 60_000;
    for (let nth = 0; nth < 5; nth += 1) kinds.push(enter("0000 0000", `192.0.${minute}.${nth}`).kind);
  }
  expect(kinds.filter((kind) => kind === "wrong")).toHaveLength(20 + 35);
  expect(new Set(kinds)).toEqual(new Set(["wrong", "busy"]));
});
