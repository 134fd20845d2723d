import { expect, it } from "vitest";
import type { Command } from "../../simulators/service/ingest/commands.ts";
import { rows, run } from "../../simulators/service/storage/db.ts";
import { DERIVATION_VERSION } from "../../src/domain/rebuild.ts";
import { activeSite, MINUTE, START } from "../support/active-site.ts";
import { laidOut, withoutChance } from "../support/golden.ts";
import { gatewayOf, order, settled } from "./orders.ts";
import { SERIAL } from "../support/virtual-service.ts";
import type { VirtualSite } from "../support/virtual-site.ts";

const OTHER_SERIAL = "WXYZ-456-456";
const UNTIL_AN_HOUR_IS_FINISHED_MS = 85 * MINUTE;

interface Kept {
  readonly id: number;
  readonly topic: string;
  readonly payload: string;
}

function uplinks({ service }: VirtualSite, after: number): readonly Kept[] {
  const sql =
    "SELECT id, topic, payload FROM uplink_messages WHERE id > ? AND topic IN ('up/result', 'up/digest') ORDER BY id";
  return rows<Kept>(service.db, sql, after);
}

/** Returns the commands that the service sent by itself in answer to a digest. */
function answers({ service }: VirtualSite, known: ReadonlySet<string>): readonly unknown[] {
  const sql = "SELECT id, type, args, expires_at FROM commands ORDER BY created_at, rowid";
  return rows<{ id: string; args: string }>(service.db, sql)
    .filter(({ id }) => !known.has(id))
    .map((command) => ({ ...command, args: JSON.parse(command.args) as unknown }));
}

function secondBooth({ service }: VirtualSite): void {
  run(
    service.db,
    `INSERT INTO booths (id, account_id, facility_id, serial_number, name, config, created_at, updated_at)
     SELECT 'b-2', account_id, facility_id, '${OTHER_SERIAL}', 'Booth 2', config, created_at, updated_at FROM booths`,
  );
}

it("every remote command of the service and every answer matches the golden file of the wire format", async () => {
  const { site, stream } = await activeSite({ for_ms: UNTIL_AN_HOUR_IS_FINISHED_MS });
  secondBooth(site);
  const texts: string[] = [];
  const known = new Set<string>();
  let seen = 0;
  const told = async (type: string, args: Parameters<typeof order>[2] = {}): Promise<void> => {
    const command = order(site, type as Command["type"], args);
    known.add(command.id);
    await settled(site, command.id);
    // The commands that the service sends in response are answered too.
    await site.clock.run(MINUTE);
    const ups = uplinks(site, seen);
    seen = ups.at(-1)?.id ?? seen;
    texts.push(`down/cmd\n${laidOut(command)}`);
    texts.push(...ups.map(({ topic, payload }) => `${topic}\n${laidOut(JSON.parse(payload))}`));
    for (const answer of answers(site, known)) texts.push(`down/cmd, by itself\n${laidOut(answer)}`);
    for (const { id } of rows<{ id: string }>(site.service.db, "SELECT id FROM commands")) known.add(id);
  };
  run(site.service.db, "DELETE FROM records WHERE seq BETWEEN 20 AND 39");
  await told("backfill", { serial: SERIAL, stream_id: stream, ranges: [[20, 39]] });
  run(site.service.db, "DELETE FROM records WHERE seq BETWEEN 20 AND 39");
  await told("digest", { serial: SERIAL, start: START - 50 * MINUTE, end: START + 70 * MINUTE });
  const config = { revision: 2, filters: { exhaust_filter: { limits: { minutes: 4_321 } } } };
  run(site.service.db, "UPDATE booths SET config = ?", JSON.stringify(config));
  await told("config_changed", { serial: SERIAL, revision: 2 });
  await told("rotate_key");
  await told("rotate_key", { expires_in_ms: -1 });
  await told("reboot");
  await told("reassign", { serial: SERIAL, to_serial: OTHER_SERIAL, wrong_serial: true });
  await told("release", { serial: OTHER_SERIAL, to: "decommissioned", reason: "the booth was sold" });

  const names = {
    [gatewayOf(site.service)]: "<gateway>",
    [stream]: "<stream>",
    [`"algorithm_version": ${DERIVATION_VERSION}`]: '"algorithm_version": <version>',
  };
  // The expiry times depend on the run, so they are replaced.
  const text = texts.join("\n\n").replaceAll(/(?<="expires_at": ?)\d{13}\b/g, "<epoch ms>");
  await expect(`${withoutChance(text, names)}\n`).toMatchFileSnapshot("../golden/orders.txt");
});
