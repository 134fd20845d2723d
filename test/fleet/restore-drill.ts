import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parse, stringify } from "yaml";
import type { Account } from "../../simulators/fleet/account.ts";
import { fleetClock } from "../../simulators/fleet/clock.ts";
import { seedSite } from "../../simulators/service/accounts/seed.ts";
import { openDb } from "../../simulators/service/storage/open.ts";
import { onTestFinished } from "vitest";
import { eventually } from "../support/eventually.ts";
import { PROVISION_KEY, realSite, type RealSite, SERIAL } from "../support/real-site.ts";
import { temporaryFolder } from "../support/temporary.ts";
import type { ServicePart } from "./parts.ts";
import { rideSmall, type SmallSite, smallBroker, smallSite } from "./small-site.ts";

/**
 * The restore drill: a fleet of virtual gateways and a real agent send to a service on PostgreSQL, which is then
 * restored from a base backup. Missing records are counted by psql with SQL that shares nothing with the service's code.
 */

interface Drill {
  readonly gateways: number;
  /** Speed of the virtual gateways' time. The agent runs in real time. */
  readonly speed: number;
  /** Real time between backup and restore. */
  readonly traffic_ms: number;
  /** Maximum real time from the restore until nothing is missing. */
  readonly healed_within_ms: number;
  readonly agent_heartbeat_ms: number;
}

interface Drilled {
  /** Acked records that were missing right after the restore, and at the end. */
  readonly missing: number;
  readonly missing_later: number;
  /** The same of the real agent alone. */
  readonly missing_of_agent: number;
  readonly missing_of_agent_later: number;
  readonly healed_ms: number;
  /** The greatest value of each of the service's own metrics. */
  readonly metrics: Readonly<Record<string, number>>;
  /** The agent's own words while it sent records again. */
  readonly shown: string;
  readonly account: Account;
}

/** The cursor of each stream as its gateway stated it last, in the database's own JSON. */
const CURSORS = `SELECT b->>'stream_id' AS stream, (b->>'acked_seq')::bigint AS acked
  FROM gateways g, jsonb_array_elements(g.state::jsonb->'booths') b WHERE b->>'acked_seq' IS NOT NULL`;

function psql(url: string, sql: string): string {
  return execFileSync("psql", ["-XAtqd", url, "-c", sql]).toString().trim();
}

/** Counts the seqs from 1 to each cursor that are neither a row nor in the range of a stored message. */
function missingBelow(url: string, cursors: string, stream: string | null = null): number {
  if (cursors === "") return 0;
  const values = cursors
    .split("\n")
    .map((line) => line.split("|"))
    .filter(([name]) => stream === null || name === stream)
    .map(([name, acked]) => `('${String(name)}', ${String(acked)})`);
  const sql = `SELECT count(*) FROM (VALUES ${values.join(", ")}) AS c (stream, acked)
    LEFT JOIN streams s ON s.stream_id = c.stream CROSS JOIN LATERAL generate_series(1, c.acked) AS wanted (n)
    WHERE NOT EXISTS (SELECT 1 FROM records r WHERE r.stream_no = s.id AND r.seq = wanted.n)
      AND NOT EXISTS (SELECT 1 FROM segments g WHERE g.stream_no = s.id AND wanted.n BETWEEN g.from_seq AND g.to_seq)`;
  return Number(psql(url, sql));
}

export async function restoreDrill(drill: Drill): Promise<Drilled> {
  const folder = temporaryFolder();
  const stopping = new AbortController();
  onTestFinished(() => stopping.abort());
  const broker = await smallBroker(folder);
  const site = await smallSite(folder, { gateways: drill.gateways, broker: broker.service });
  const figures = await site.role("figures", ["--role", "figures"]);
  const agent = await agentAt(site, drill);
  const watching = new AbortController();
  const counts = watchMetrics(figures, watching.signal);
  const { url } = site.postgres;
  let restoring: Promise<Omit<Drilled, "account" | "metrics">> | undefined;
  const begin = (): Promise<Omit<Drilled, "account" | "metrics">> =>
    (restoring ??= backUpAndRestore(site, agent, drill));
  const { account } = await rideSmall(site, {
    gateways: drill.gateways,
    seed: 45,
    clock: fleetClock(drill.speed),
    // The traffic goes on for some time after the restore.
    length_ms: drill.speed * 1.5 * drill.traffic_ms,
    story: [],
    drain_ms: 60_000,
    signal: stopping.signal,
    show: ({ connected }) => void (connected === drill.gateways && begin()),
    draining: async () => void (await begin()),
  });
  const restored = await begin();
  watching.abort();
  const last = psql(url, CURSORS);
  return {
    ...restored,
    metrics: await counts,
    missing_later: restored.missing_later + missingBelow(url, last),
    account,
  };
}

async function backUpAndRestore(
  { postgres }: SmallSite,
  { site: agent, stream }: RealAgent,
  { traffic_ms, healed_within_ms }: Drill,
): Promise<Omit<Drilled, "account" | "metrics">> {
  const { url, cluster } = postgres;
  const copy = join(cluster.folder, "backup");
  await cluster.backUp(copy);
  await sleep(traffic_ms);
  const cursors = psql(url, CURSORS);
  await cluster.stop("fast");
  cluster.restore(copy);
  await cluster.start();
  const restored_at = performance.now();
  const restored_wall = Date.now();
  const missing = missingBelow(url, cursors);
  const missing_of_agent = missingBelow(url, cursors, await stream());
  const shown = eventually(
    "the agent shows that records are sent again",
    async () => {
      const status = await agent.status();
      const lacking = status?.booths[0]?.log.lacking ?? null;
      return lacking === null ? undefined : JSON.stringify(lacking);
    },
    healed_within_ms,
  );
  await eventually(
    "every gateway has stated its cursor, and nothing is missing",
    () => {
      const silent = psql(
        url,
        `SELECT count(*) FROM gateways WHERE coalesce(heartbeat_at, 0) < ${String(restored_wall)}`,
      );
      return silent === "0" && missingBelow(url, psql(url, CURSORS)) === 0 ? true : undefined;
    },
    healed_within_ms,
  );
  const healed_ms = performance.now() - restored_at;
  return {
    missing,
    missing_of_agent,
    healed_ms,
    missing_later: missingBelow(url, cursors),
    missing_of_agent_later: missingBelow(url, cursors, await stream()),
    shown: await shown,
  };
}

/** Reads the metrics of a process each second until the signal. Returns the greatest value of each. */
async function watchMetrics({ lines }: ServicePart, signal: AbortSignal): Promise<Readonly<Record<string, number>>> {
  const [, vitals = ""] = lines().flatMap((line) => /vitals (\S+)/.exec(line) ?? []);
  const greatest: Record<string, number> = {};
  while (!signal.aborted) {
    const text = await fetch(`${vitals}/metrics`).then(
      (answer) => answer.text(),
      () => "",
    );
    for (const [, name = "", value] of text.matchAll(/^(booth_service_\w+) (\S+)$/gm))
      greatest[name] = Math.max(greatest[name] ?? 0, Number(value));
    await sleep(1_000, undefined, { signal }).catch(() => undefined);
  }
  return greatest;
}

interface RealAgent {
  readonly site: RealSite;
  /** Returns the name of its booth's log. */
  readonly stream: () => Promise<string>;
}

/** Starts a real agent with a PLC that delivers to the site. */
async function agentAt({ postgres, url }: SmallSite, { agent_heartbeat_ms }: Drill): Promise<RealAgent> {
  const now = Date.now();
  const site = await realSite({ speed: 1, serial: SERIAL, begins: { wall: now, story: now } });
  const db = openDb(postgres.url);
  seedSite(db, { serial: SERIAL, provisionKey: PROVISION_KEY, now });
  db.close();
  const config = parse(readFileSync(site.configFile, "utf8")) as { service: object };
  const own = {
    service: { ...config.service, url },
    commit_interval_ms: 1_000,
    heartbeat_interval_ms: agent_heartbeat_ms,
  };
  writeFileSync(site.configFile, stringify({ ...config, ...own }));
  const program = site.startAgent();
  await eventually(
    "the agent has delivered records",
    async () => {
      const status = await site.status();
      if (!program.isRunning()) throw new Error(`the agent ended: ${program.lines.join("\n")}`);
      return (status?.booths[0]?.log.acked_seq ?? 0) > 0 ? true : undefined;
    },
    30_000,
  ).catch((error: unknown) => {
    throw new Error(program.lines.slice(-20).join("\n"), { cause: error });
  });
  const stream = async (): Promise<string> => (await site.status())?.booths[0]?.stream ?? "";
  return { site, stream };
}
