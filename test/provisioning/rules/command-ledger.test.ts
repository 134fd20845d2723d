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

it("a remote command runs once, and a repeat with the same id gets the same answer", () => {
  const first = hear([], command("a"), NOW);
  expect(first).toMatchObject({ run: order, answer: { cmd_id: "a", state: "accepted" } });
  const ended = settled(first.ledger, done("a", { rotated: true }));
  expect(hear(ended, command("a"), NOW)).toEqual({ ledger: ended, run: null, answer: done("a", { rotated: true }) });
});

it.each([
  ["a malformed command", { kind: "malformed", id: "a", reason: "no type" } as const, "failed", "no type"],
  ["an expired command", command("a", NOW), "expired", "it came after its time"],
])("%s gets an answer but does not run, even after a restart", (...[, heard, state, error]) => {
  const { ledger, answer, run } = hear([], heard, NOW);
  expect([run, answer.state, answer.error]).toEqual([null, state, error]);
  expect(unfinished(ledger)).toEqual([]);
});

it("after a restart, accepted commands without a result run again, the oldest first", () => {
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

it("at most 16 backfills or 4 commands of another type run simultaneously, and no type delays another type", () => {
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

it("at most 16 commands of each type wait, whatever the number of other waiting commands", () => {
  const full = Array.from({ length: 16 }, () => heardBackfill());
  expect(hasRoom(full.slice(1), heardBackfill())).toBe(true);
  expect(hasRoom(full, heardBackfill())).toBe(false);
  expect(hasRoom(full, command("rotate"))).toBe(true);
  expect(hasRoom(full, heardBackfill("an answer to a digest"))).toBe(true);
});

it("a backfill command expires at most a day after it is accepted, and any other command at its own expiry time", () => {
  expect(expiryOf({ order: backfill(), expires_at: 1e15 }, NOW)).toBe(NOW + 86_400_000);
  expect(expiryOf({ order: backfill(), expires_at: NOW + 5 }, NOW)).toBe(NOW + 5);
  expect(expiryOf({ order, expires_at: 1e15 }, NOW)).toBe(1e15);
  const heard = { kind: "command", command: { id: "b", expires_at: 1e15, order: backfill() } } as const;
  expect(hear([], heard, NOW).ledger[0]?.expires_at).toBe(NOW + 86_400_000);
});

it("the command ledger keeps the answer of a finished command, but not its arguments", () => {
  const ledger = settled(hear([], heardBackfill(), NOW).ledger, done("b", { records: 9 }));
  expect(ledger).toMatchObject([{ order: null, answer: { state: "done" } }]);
});

it("a full command ledger drops the oldest finished command, but no running command", () => {
  const ids = Array.from({ length: MOST_ROWS }, (_, i) => i.toString());
  const full = settled(heardAll(ids), done("7", null));
  const next = heardAll(["new"], full);
  expect(next).toHaveLength(MOST_ROWS);
  expect(next.some(({ answer }) => answer.cmd_id === "7")).toBe(false);
  expect(heardAll(["newer"], next)).toHaveLength(MOST_ROWS + 1);
});
