import { createHash } from "node:crypto";
import Database from "better-sqlite3";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { rows, run } from "../../simulators/service/storage/db.ts";
import { activeSite, boothOf, MINUTE, START } from "../support/active-site.ts";
import { recordFault } from "../support/faults.ts";
import { order, outcomeOf, settled } from "./orders.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { type VirtualSite, virtualSite } from "../support/virtual-site.ts";

/** Step of virtual time between two power cuts. A message to the service takes 20 ms. */
const STEP_MS = 15;
const BEFORE_MS = 20_000;

/** Returns the hashes of the gateway's keys that are valid now. */
function opening({ service, clock }: VirtualSite): string[] {
  const sql =
    "SELECT hash, expires_at FROM api_keys WHERE scope = 'gateway' AND revoked_at IS NULL ORDER BY created_at, rowid";
  return rows<{ hash: string; expires_at: number | null }>(service.db, sql)
    .filter(({ expires_at }) => expires_at === null || expires_at > clock.wall())
    .map(({ hash }) => hash);
}

/** Returns the hashes of the keys without an end date. */
function lasting({ service }: VirtualSite): string[] {
  const sql = "SELECT hash FROM api_keys WHERE scope = 'gateway' AND revoked_at IS NULL AND expires_at IS NULL";
  return rows<{ hash: string }>(service.db, sql).map(({ hash }) => hash);
}

/** Returns the hash of the gateway's credential. */
function held(folder: string): string {
  const db = new Database(join(folder, "identity.db"), { readonly: true });
  const { credential } = db.prepare("SELECT credential FROM gateway").get() as { credential: string };
  db.close();
  return createHash("sha256").update(credential).digest("hex");
}

it("a key rotation replaces the gateway's key, revokes the old key later, and doesn't interrupt delivery", async () => {
  const { site, agent, folder } = await activeSite({ for_ms: BEFORE_MS });
  const [first] = opening(site);
  expect(held(folder)).toBe(first);
  const { id } = order(site, "rotate_key");
  expect(await settled(site, id, MINUTE)).toMatchObject({ state: "done", result: { rotated: true } });
  const both = opening(site);
  expect(both).toHaveLength(2);
  expect(held(folder)).toBe(both[1]);
  await site.clock.run(20 * MINUTE);
  expect(opening(site)).toEqual([both[1]]);
  const { acked_seq, newest_seq } = boothOf(agent).log;
  await site.clock.run(10 * MINUTE);
  expect(boothOf(agent).log.acked_seq).toBeGreaterThan(acked_seq);
  expect(boothOf(agent).log.acked_seq).toBeGreaterThan(newest_seq);
});

it("a key rotation succeeds at a broker that learns of a key half a minute after the key was used over HTTP", async () => {
  const { site, folder } = await activeSite({ for_ms: BEFORE_MS });
  const [first] = opening(site);
  // The open session continues, and the broker knows the present key.
  site.service.way.broker_learns_ms = 30_000;
  const { id } = order(site, "rotate_key");
  expect(await settled(site, id, 2 * MINUTE)).toMatchObject({ state: "done", result: { rotated: true } });
  expect(held(folder)).not.toBe(first);
  expect(site.lines.filter((line) => line.includes("new_key_refused"))).toEqual([]);
});

it("a new gateway's first session waits for a broker that learns of its key half a minute later, without reporting a refused key", async () => {
  const folder = temporaryFolder();
  const site = virtualSite({ folder, scenario: "busy-day", start: START });
  onTestFinished(() => site.close());
  site.service.way.broker_learns_ms = 30_000;
  const agent = await site.start();
  await site.clock.runUntil(() => boothOf(agent).provisioning.state === "active", 2 * MINUTE);
  expect(site.lines.filter((line) => line.includes("refuses the key"))).toEqual([]);
});

it("a key rotation keeps the old key valid if the new key can't open a session", async () => {
  const { site, agent, folder } = await activeSite({ for_ms: BEFORE_MS });
  const [first] = opening(site);
  site.service.way.passing = (what, { body }) => {
    const isRotation = typeof body === "object" && body !== null && "credential_sha256" in body;
    // The service confirms the new key and then forgets it at once.
    if (what === "answer" && isRotation)
      run(site.service.db, "UPDATE api_keys SET revoked_at = 1 WHERE scope = 'gateway' AND hash <> ?", first ?? "");
    return Promise.resolve();
  };
  const { id } = order(site, "rotate_key");
  expect(await settled(site, id)).toMatchObject({ state: "failed" });
  expect(held(folder)).toBe(first);
  await site.clock.run(30 * MINUTE);
  expect(opening(site)).toEqual([first]);
  const { newest_seq } = boothOf(agent).log;
  await site.clock.run(10 * MINUTE);
  expect(boothOf(agent).log.acked_seq).toBeGreaterThan(newest_seq);
});

/**
 * The number of records that the service lacks, and of keys that are wrong: valid without being the gateway's, or the
 * gateway's without being valid.
 */
interface CutEnd {
  readonly lost: number;
  readonly wrong: number;
}

/** Cuts the power `after_ms` into a rotation, keeps the gateway off for `off_ms`, and returns how it ended. */
async function cutAt(after_ms: number, off_ms: number): Promise<CutEnd | "too late"> {
  const { site, folder } = await activeSite({ for_ms: BEFORE_MS });
  const { id } = order(site, "rotate_key");
  await site.clock.run(after_ms);
  if (outcomeOf(site, id).state === "done") return "too late";
  site.cutPower();
  await site.clock.run(off_ms);
  const agent = await site.start();
  expect(await settled(site, id)).toMatchObject({ state: "done" });
  const { newest_seq } = boothOf(agent).log;
  await site.clock.runUntil(() => boothOf(agent).log.acked_seq > newest_seq, 5 * MINUTE);
  const streams = rows<{ missing: number }>(
    site.service.db,
    "SELECT max(seq) - count(*) AS missing FROM records GROUP BY stream_no",
  );
  const own = held(folder);
  const keys = lasting(site);
  return {
    lost: streams.reduce((sum, { missing }) => sum + missing, 0),
    wrong: keys.filter((key) => key !== own).length + (keys.includes(own) ? 0 : 1),
  };
}

it.each([
  ["a minute", MINUTE],
  ["longer than the old key lasts", 30 * MINUTE],
])(
  "a power cut at any step of a key rotation, with the power off for %s, leaves only the gateway's current key valid",
  async (text, off_ms) => {
    let cuts = 0;
    let lost = 0;
    let wrong = 0;
    for (;;) {
      const end = await cutAt(1 + cuts * STEP_MS, off_ms);
      if (end === "too late") break;
      cuts += 1;
      lost += end.lost;
      wrong += end.wrong;
    }
    process.stdout.write(`rotation: ${cuts} power cuts, the box off for ${text}\n`);
    expect(cuts).toBeGreaterThanOrEqual(6);
    const counted = { injected: cuts, lost, doubled: 0, wrong, passed: lost + wrong === 0 };
    recordFault({ row: 3, fault: `power cut at each step of a key rotation, off for ${text}`, ...counted });
    expect({ lost, wrong }).toEqual({ lost: 0, wrong: 0 });
  },
);
