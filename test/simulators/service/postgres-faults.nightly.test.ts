import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterEach, expect, it } from "vitest";
import { type Cluster, type ClusterOptions, startCluster } from "../../../simulators/postgres-cluster.ts";
import { type Db, row, rows } from "../../../simulators/service/storage/db.ts";
import { openDb } from "../../../simulators/service/storage/open.ts";
import { rangeHash } from "../../../simulators/service/ingest/canonical.ts";
import { parseBatch } from "../../../simulators/service/ingest/batch.ts";
import { type Downlink, takeUplink } from "../../../simulators/service/ingest/uplink.ts";
import { startIngest } from "../../../simulators/service/fleet/ingest.ts";
import type { Uplinks } from "../../../simulators/service/storage/port.ts";
import { memoryFolder } from "../../support/temporary.ts";
import { eventually } from "../../support/eventually.ts";
import { recordFault } from "../../support/faults.ts";
import { account, batchAt, boundGateways, deliverAll, type Gateway, offer, readingsFrom } from "./offering-gateways.ts";
import { batchOf, EPOCH } from "./service-log.ts";

const GATEWAYS = 20;

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const act of undo.splice(0).reverse()) await act();
});

interface Store {
  readonly cluster: Cluster;
  readonly db: Db;
  readonly gateways: Gateway[];
  readonly uplinks: Uplinks<Downlink>;
}

async function storeIn(options: ClusterOptions = {}): Promise<Store> {
  // Processes are killed here, not machines: what the kernel has is kept.
  const settings = { fsync: "off", ...options.settings };
  const folder = options.folder ?? memoryFolder((act) => undo.push(act));
  const cluster = await startCluster({ ...options, folder, settings });
  undo.push(cluster.remove);
  const db = openDb(cluster.url);
  undo.push(() => db.close());
  const gateways = boundGateways(db, GATEWAYS);
  const uplinks = startIngest({ url: cluster.url, alone: (uplink) => takeUplink(db, uplink) });
  undo.push(uplinks.stop);
  return { cluster, db, gateways, uplinks };
}

const ofAll = (batches: number): number => batches * 10;

/** Each of these is a row of the fault matrix. */
function counted(
  row: number,
  { fault, injected }: { readonly fault: string; readonly injected: number },
  { lost, twice }: { readonly lost: number; readonly twice: number },
): void {
  recordFault({ row, fault, injected, lost, doubled: twice, wrong: 0, passed: lost + twice === 0 });
}

it("fault matrix row 52: if PostgreSQL is killed under load, the service acks no uncommitted message and continues after the restart", async () => {
  const { cluster, db, gateways, uplinks } = await storeIn();
  const delivered = deliverAll(gateways, () => uplinks, ofAll(60));
  for (let kills = 0; kills < 3; kills += 1) {
    await eventually(
      "some more is acked",
      () => gateways.every(({ acked }) => acked > ofAll(8 * (kills + 1))) || undefined,
    );
    await cluster.stop("kill");
    await Promise.allSettled(gateways.map((gateway) => uplinks.take(beatOf(gateway))));
    await cluster.start();
    expect(account(db, gateways)).toMatchObject({ lost: 0, twice: 0 });
  }
  await delivered;
  const found = account(db, gateways);
  counted(52, { fault: "server killed under load", injected: 3 }, found);
  expect(found).toEqual({ lost: 0, twice: 0, held: GATEWAYS * ofAll(60) });
});

function beatOf({ id }: Gateway) {
  return { gateway: id, topic: "state", payload: Buffer.from('{"online":true,"session":"s"}'), now: EPOCH };
}

it("fault matrix row 52: if each PostgreSQL commit takes 100 ms, many messages share a commit and no message is lost", async () => {
  const slow = { fsync: "on", commit_delay: "100000", commit_siblings: "0" };
  const { cluster, db, gateways, uplinks } = await storeIn({ settings: slow });
  const before = transactions(db);
  await deliverAll(gateways, () => uplinks, ofAll(6));
  // Alone they would be 120 commits.
  expect(transactions(db) - before).toBeLessThan(60);
  counted(52, { fault: "100 ms a commit", injected: 1 }, account(db, gateways));
  expect(account(db, gateways)).toEqual({ lost: 0, twice: 0, held: GATEWAYS * ofAll(6) });
  expect(cluster.pid()).toBeGreaterThan(0);
});

function transactions(db: Db): number {
  return row<{ n: number }>(db, "SELECT xact_commit AS n FROM pg_stat_database WHERE datname = 'booth'")?.n ?? 0;
}

it("fault matrix row 52: if PostgreSQL's disk is full, the service acks no uncommitted message and continues once there is space", async () => {
  const folder = mkdtempSync(join(tmpdir(), "booth-full-"));
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=110m", "tmpfs", folder]);
  undo.push(
    () => rmSync(folder, { recursive: true, force: true }),
    () => execFileSync("umount", ["-l", folder]),
  );
  const settings = { min_wal_size: "32MB", max_wal_size: "32MB", autovacuum: "off", full_page_writes: "off" };
  const { cluster, db, gateways, uplinks } = await storeIn({ folder: join(folder, "pg"), settings });
  await deliverAll(gateways, () => uplinks, ofAll(2));
  execFileSync("sh", ["-c", `dd if=/dev/zero of=${folder}/ballast bs=64k 2>/dev/null; true`]);
  let refused = 0;
  await eventually("the disk is full", async () => {
    const taken = await Promise.all(gateways.map((gateway) => offer(gateway, uplinks)));
    refused += taken.filter((one) => !one).length;
    return refused > 0 || undefined;
  });
  rmSync(join(folder, "ballast"));
  // A server that can't write its log at all ends itself.
  await cluster.stop("kill");
  await cluster.start();
  await deliverAll(gateways, () => uplinks, ofAll(40));
  const found = account(db, gateways);
  counted(52, { fault: "full disk", injected: refused }, found);
  expect(found).toMatchObject({ lost: 0, twice: 0 });
});

it("fault matrix row 53: after a restore of an older database backup, the service requests the missing records and keeps no wrong ones", async () => {
  const { cluster, db, gateways, uplinks } = await storeIn();
  await deliverAll(gateways, () => uplinks, ofAll(5));
  await cluster.stop();
  const data = join(cluster.folder, "data");
  const backup = join(cluster.folder, "backup");
  execFileSync("cp", ["-a", data, backup]);
  await cluster.start();
  await deliverAll(gateways, () => uplinks, ofAll(9));
  await cluster.stop();
  rmSync(data, { recursive: true });
  cpSync(backup, data, { recursive: true });
  execFileSync("chown", ["-R", "--reference", backup, data]);
  execFileSync("chmod", ["700", data]);
  await cluster.start();
  // They are ahead of the store and go on from where they are.
  await deliverAll(gateways, () => uplinks, ofAll(11));
  for (const gateway of gateways) {
    const digest = digestOf(gateway, ofAll(11));
    const { commands = [] } = await uplinks.take({ gateway: gateway.id, topic: "digest", payload: digest, now: EPOCH });
    const { ranges } = commands[0]?.args as { readonly ranges: readonly [number, number][] };
    expect(ranges).toEqual([[ofAll(4) + 1, ofAll(11)]]);
    for (let s0 = ofAll(4) + 1; s0 < ofAll(11); s0 += 10) {
      const payload = batchAt(gateway, s0);
      const { ack } = await uplinks.take({ gateway: gateway.id, topic: "batch", payload, now: EPOCH });
      expect(ack).toMatchObject({ n: 10, conflict: null, reject: [] });
    }
  }
  const found = account(db, gateways);
  counted(53, { fault: "a backup four batches older", injected: GATEWAYS }, found);
  expect(found).toEqual({ lost: 0, twice: 0, held: GATEWAYS * ofAll(11) });
  expect(rows(db, "SELECT * FROM replaced_records")).toEqual([]);
});

/** Returns a gateway's digest of two parts of its log: the first is held, some of the second is missing. */
function digestOf({ id, stream }: Gateway, last: number): Buffer {
  const hourOf = (from: number, to: number) => {
    const batch = parseBatch(batchOf(readingsFrom(from, to - from + 1), { gateway: id, stream, s0: from }));
    if ("error" in batch) throw new Error(batch.error);
    return { hour: 0, from, to, hash: rangeHash(batch.records) };
  };
  const hours = [hourOf(1, ofAll(4)), hourOf(ofAll(4) + 1, last)];
  return Buffer.from(JSON.stringify({ id: `digest of ${id}`, stream_id: stream, serial: "x", hours }));
}

it("a gzip payload with invalid JSON is acked as malformed by the PostgreSQL ingest", async () => {
  const { gateways, uplinks } = await storeIn();
  const [gateway] = gateways;
  if (gateway === undefined) throw new Error("no gateway");
  const { ack } = await uplinks.take({ gateway: gateway.id, topic: "batch", payload: gzipSync("{"), now: EPOCH });
  expect(ack).toMatchObject({ n: 0, error: "malformed" });
});

it("fault matrix row 54: a late last will of an older session never marks a reconnected gateway as offline", async () => {
  const { db, gateways, uplinks } = await storeIn();
  const say = (id: string, online: boolean, session: string) =>
    uplinks.take({
      gateway: id,
      topic: "state",
      payload: Buffer.from(JSON.stringify({ online, session })),
      now: EPOCH,
    });
  const onlineOf = (id: string) => row<{ online: number }>(db, "SELECT online FROM gateways WHERE id = ?", id)?.online;
  // Each message in a transaction of its own, and all of them at once.
  for (const inOrder of [true, false]) {
    const ids = gateways.slice(inOrder ? 0 : 10, inOrder ? 10 : 20).map(({ id }) => id);
    for (const id of ids) {
      const beats = [() => say(id, true, "old"), () => say(id, true, "new"), () => say(id, false, "old")];
      if (inOrder) for (const beat of beats) await beat();
      else await Promise.all(beats.map((beat) => beat()));
    }
    expect(ids.map(onlineOf)).toEqual(ids.map(() => 1));
    await Promise.all(ids.map((id) => say(id, false, "new")));
    expect(ids.map(onlineOf)).toEqual(ids.map(() => 0));
  }
  recordFault({
    row: 54,
    fault: "late wills on PostgreSQL",
    injected: GATEWAYS,
    lost: 0,
    doubled: 0,
    wrong: 0,
    passed: true,
  });
});
