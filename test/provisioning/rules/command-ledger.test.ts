import { expect, it } from "vitest";
import {
  done,
  expiryOf,
  failed,
  hasRoom,
  hear,
  nextIn,
  settled,
  unfinished,
  type Ledger,
} from "../../../src/provisioning/rules/command-ledger.ts";
import type { HeardCommand } from "../../../src/domain/command.ts";

const MOST_ROWS = 100;
const NOW = 1_000;
const order = { type: "rotate_key" } as const;
const command = (id: string, expires_at = NOW + 1): HeardCommand => ({
  kind: "command",
  command: { id, expires_at, order },
});

function heardAll(ids: readonly string[], ledger: Ledger = []): Ledger {
  return ids.reduce((now, id) => hear(now, command(id), NOW).ledger, ledger);
}

it("a command is run once, and its id gets the same answer ever after", () => {
  const first = hear([], command("a"), NOW);
  expect(first).toMatchObject({ run: order, answer: { cmd_id: "a", state: "accepted" } });
  const ended = settled(first.ledger, done("a", { rotated: true }));
  expect(hear(ended, command("a"), NOW)).toEqual({ ledger: ended, run: null, answer: done("a", { rotated: true }) });
});

it.each([
  ["one that is none", { kind: "malformed", id: "a", reason: "no type" } as const, "failed", "no type"],
  ["one that came at its end", command("a", NOW), "expired", "it came after its time"],
])("%s is answered and not run, nor taken up after a stop", (...[, heard, state, error]) => {
  const { ledger, answer, run } = hear([], heard, NOW);
  expect([run, answer.state, answer.error]).toEqual([null, state, error]);
  expect(unfinished(ledger)).toEqual([]);
});

it("after a stop those are taken up that were accepted and not settled, oldest first", () => {
  const ledger = settled(heardAll(["a", "b", "c"]), failed("b", "no"));
  expect(unfinished(ledger).map(({ answer, order: own }) => [answer.cmd_id, own])).toEqual([
    ["a", order],
    ["c", order],
  ]);
});

const backfill = (digest: string | null = null) =>
  ({ type: "backfill", serial: "A", stream_id: "s", ranges: [{ from: 1, to: 9 }], digest }) as const;
const heardBackfill = (digest: string | null = null): HeardCommand => ({
  kind: "command",
  command: { id: "b", expires_at: NOW + 1, order: backfill(digest) },
});

it("16 backfills or 4 commands of another type are under way at once, and no other type waits for them", () => {
  const busy = Array.from({ length: 16 }, () => "backfill" as const);
  const rotations = ["rotate_key", "rotate_key", "rotate_key", "rotate_key"] as const;
  expect(nextIn([command("rotate")], rotations)).toBe(-1);
  expect(nextIn([command("rotate")], rotations.slice(1))).toBe(0);
  expect(nextIn([heardBackfill()], busy.slice(1))).toBe(0);
  expect(nextIn([heardBackfill(), heardBackfill()], busy)).toBe(-1);
  expect(nextIn([heardBackfill(), command("rotate")], busy)).toBe(1);
  expect(nextIn([heardBackfill(), heardBackfill("an answer to a digest")], busy)).toBe(1);
  expect(nextIn([heardBackfill(), { kind: "malformed", id: "m", reason: "" }], busy)).toBe(1);
});

it("16 commands of a type wait at most, and take no room from commands of another type", () => {
  const full = Array.from({ length: 16 }, () => heardBackfill());
  expect(hasRoom(full.slice(1), heardBackfill())).toBe(true);
  expect(hasRoom(full, heardBackfill())).toBe(false);
  expect(hasRoom(full, command("rotate"))).toBe(true);
  expect(hasRoom(full, heardBackfill("an answer to a digest"))).toBe(true);
});

it("a backfill expires a day after it is accepted at the latest, and other commands by their own time alone", () => {
  expect(expiryOf({ order: backfill(), expires_at: 1e15 }, NOW)).toBe(NOW + 86_400_000);
  expect(expiryOf({ order: backfill(), expires_at: NOW + 5 }, NOW)).toBe(NOW + 5);
  expect(expiryOf({ order, expires_at: 1e15 }, NOW)).toBe(1e15);
  const heard = { kind: "command", command: { id: "b", expires_at: 1e15, order: backfill() } } as const;
  expect(hear([], heard, NOW).ledger[0]?.expires_at).toBe(NOW + 86_400_000);
});

it("the ledger keeps the answer of a settled command, and not its order", () => {
  const ledger = settled(hear([], heardBackfill(), NOW).ledger, done("b", { records: 9 }));
  expect(ledger).toMatchObject([{ order: null, answer: { state: "done" } }]);
});

it("of more than a hundred the oldest goes that is settled, and none that is under way", () => {
  const ids = Array.from({ length: MOST_ROWS }, (_, i) => i.toString());
  const full = settled(heardAll(ids), done("7", null));
  const next = heardAll(["new"], full);
  expect(next).toHaveLength(MOST_ROWS);
  expect(next.some(({ answer }) => answer.cmd_id === "7")).toBe(false);
  expect(heardAll(["newer"], next)).toHaveLength(MOST_ROWS + 1);
});
