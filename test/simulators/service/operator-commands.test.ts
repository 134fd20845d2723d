import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { serviceCommand } from "../../../simulators/service/cli.ts";
import { openDb } from "../../../simulators/service/storage/open.ts";
import { rows } from "../../../simulators/service/storage/db.ts";
import { startService } from "../../../simulators/service/start.ts";
import { temporaryFolder } from "../../support/temporary.ts";
import { freshStore } from "./store-under-test.ts";

/** A database to prepare, as options of a command: a folder, or a PostgreSQL database. */
function store(): { readonly options: readonly string[]; readonly where: string; readonly folder: string } {
  const folder = temporaryFolder();
  const fresh = freshStore();
  if (fresh === ":memory:") return { options: ["--data", folder], where: folder, folder };
  return { options: ["--store", fresh], where: fresh, folder };
}

async function run(...argv: readonly string[]): Promise<{ code: number; out: string[]; err: string[] }> {
  const out: string[] = [];
  const err: string[] = [];
  const signal = new AbortController().signal;
  const code = await serviceCommand(argv, { out: (line) => out.push(line), err: (line) => err.push(line), signal });
  return { code, out, err };
}

/** Returns the count of rows by table. */
function counts(where: string): Readonly<Record<string, number>> {
  const db = openDb(where);
  const names = ["accounts", "regions", "facilities", "booths"];
  const found = names.map((name) => [name, rows<{ n: number }>(db, `SELECT count(*) AS n FROM ${name}`)[0]?.n ?? 0]);
  db.close();
  return Object.fromEntries(found) as Record<string, number>;
}

describe("the command booth-sim service init", () => {
  it("creates an account and prints an admin key that the service accepts", async () => {
    const { options, where } = store();
    const { code, out, err } = await run("init", ...options, "--account", "Example Booths");
    expect([code, out.length, err.length]).toEqual([0, 1, 1]);
    const isServer = where.startsWith("postgres");
    const running = await startService({
      dataDir: isServer ? ":memory:" : where,
      store: isServer ? where : undefined,
      port: 0,
      mqttPort: 0,
      clock: { wall: () => Date.now() },
    });
    try {
      const answer = await fetch(`${running.url}/api/accounts`, { headers: { authorization: out[0] ?? "" } });
      expect(await answer.json()).toMatchObject({ total: 1, data: [{ name: "Example Booths" }] });
      const made = await fetch(`${running.url}/api/api_keys`, {
        method: "POST",
        headers: { authorization: out[0] ?? "", "content-type": "application/json" },
        body: JSON.stringify({ name: "first key", scope: "provision" }),
      });
      expect(made.status).toBe(201);
    } finally {
      await running.stop();
    }
  });

  it("changes nothing if the database has an account, and makes another admin key with --new-key", async () => {
    const { options, where } = store();
    const first = await run("init", ...options);
    expect(await run("init", ...options)).toMatchObject({ code: 1, out: [] });
    expect(counts(where)).toMatchObject({ accounts: 1, regions: 1 });
    const other = await run("init", ...options, "--new-key");
    expect(other.code).toBe(0);
    expect(other.out).not.toEqual(first.out);
  });

  it("rejects wrong arguments and an unreachable database in one sentence", async () => {
    expect(await run("init", "--store", "./folder")).toMatchObject({ code: 2, out: [] });
    expect(await run("init", "--nonsense")).toMatchObject({ code: 2, out: [] });
    const { code, err } = await run("init", "--store", "postgres://booth@127.0.0.1:1/booth");
    expect([code, err]).toEqual([
      1,
      ["The database of --store, or a broker, can't be reached. Check that it runs, then start again."],
    ]);
  });
});

describe("the command booth-sim service import", () => {
  const prepared = async () => {
    const at = store();
    await run("init", ...at.options);
    const put = async (kind: string, lines: readonly string[] | Uint8Array, ...more: readonly string[]) => {
      const file = join(at.folder, `${kind}.csv`);
      writeFileSync(file, lines instanceof Uint8Array ? lines : `${lines.join("\n")}\n`);
      const { code, out, err } = await run("import", kind, file, ...at.options, ...more);
      return { code, said: [...out, ...err].map((line) => line.replace(`${file}:`, "line ")) };
    };
    return { ...at, put };
  };

  const ACCOUNTS = ["name;customer_type", "Ann's Shops;group", '"Bob ""B"" Body";'];
  const FACILITIES = [
    "account,name,tz,region,city,latitude,working_hours",
    "Ann's Shops,Main Street,America/Chicago,West,Springfield,41.5,mon-fri 8:00-17:30; sat 09:00-12:00",
    "Ann's Shops,Side Street,America/Denver,West,,,",
    ',Own hall,UTC,,"Two\nlines",,',
  ];
  const BOOTHS = [
    "account,facility,serial_number,name,bay_count,profile",
    "Ann's Shops,Main Street,abcd-0001,Left,2,siemens-booth",
    "Ann's Shops,Main Street,ABCD-0002,,,",
    ",Own hall,ABCD-0003,,,",
  ];

  it("imports accounts, facilities and booths, and nothing more when it is repeated", async () => {
    const { where, put } = await prepared();
    for (const repeated of [false, true]) {
      const said = (count: number): string =>
        repeated ? `0 created, 0 changed, ${count} unchanged` : `${count} created, 0 changed, 0 unchanged`;
      expect(await put("accounts", ACCOUNTS)).toEqual({ code: 0, said: [`accounts: ${said(2)}`] });
      expect(await put("facilities", FACILITIES)).toEqual({ code: 0, said: [`facilities: ${said(3)}`] });
      expect(await put("booths", BOOTHS)).toEqual({ code: 0, said: [`booths: ${said(3)}`] });
      expect(counts(where)).toEqual({ accounts: 3, regions: 4, facilities: 3, booths: 3 });
    }
    const db = openDb(where);
    const sql = `SELECT b.serial_number, b.name, b.bay_count, b.config, f.tz, f.city, f.latitude, f.working_hours, r.name AS region,
      a.name AS account FROM booths b JOIN facilities f ON f.id = b.facility_id JOIN regions r ON r.id = f.region_id
      JOIN accounts a ON a.id = b.account_id ORDER BY b.serial_number`;
    const [first, second, third] = rows<Record<string, string>>(db, sql);
    db.close();
    expect(first).toMatchObject({ serial_number: "ABCD-0001", name: "Left", bay_count: "2", region: "West" });
    expect(first).toMatchObject({ account: "Ann's Shops", tz: "America/Chicago", latitude: 41.5 });
    expect(JSON.parse(first?.["config"] ?? "")).toMatchObject({ revision: 1, profile: "siemens-booth" });
    const hours = JSON.parse(first?.["working_hours"] ?? "") as unknown[];
    expect([hours.length, hours[0], hours[5]]).toEqual([
      6,
      { day: "monday", enabled: true, start: "08:00:00", stop: "17:30:00" },
      { day: "saturday", enabled: true, start: "09:00:00", stop: "12:00:00" },
    ]);
    expect(second).toMatchObject({ name: "Booth ABCD-0002", bay_count: null });
    expect(JSON.parse(second?.["config"] ?? "")).toMatchObject({ profile: "click-booth" });
    expect(third).toMatchObject({ account: "Main", city: "Two\nlines", region: "Default" });
  });

  it("changes only the cells that the file gives", async () => {
    const { where, put } = await prepared();
    await put("facilities", ["name,tz,city", "Hall,UTC,Here"]);
    await put("booths", ["facility,serial_number,name,width", "Hall,ABCD-0001,Left,14"]);
    const changed = { code: 0, said: ["facilities: 0 created, 1 changed, 0 unchanged"] };
    expect(await put("facilities", ["name,tz,store_number", "Hall,America/Denver,7"])).toEqual(changed);
    const booth = await put("booths", ["facility,serial_number,height,profile", "Hall,ABCD-0001,9,other-booth"]);
    expect(booth.said).toEqual(["booths: 0 created, 1 changed, 0 unchanged"]);
    const db = openDb(where);
    const [found] = rows<{ config: string }>(db, "SELECT name, width, height, config FROM booths");
    const [hall] = rows(db, "SELECT tz, city, store_number FROM facilities");
    const before = rows(db, "SELECT tz FROM facility_hours_before");
    db.close();
    expect(found).toMatchObject({ name: "Left", width: "14", height: "9" });
    expect(JSON.parse(found?.config ?? "")).toMatchObject({ revision: 2, profile: "other-booth" });
    expect([hall, before]).toEqual([{ tz: "America/Denver", city: "Here", store_number: "7" }, [{ tz: "UTC" }]]);
  });

  it("stores nothing in a dry run", async () => {
    const { where, put } = await prepared();
    const dry = { code: 0, said: ["dry run of facilities, nothing stored: 1 created, 0 changed, 0 unchanged"] };
    expect(await put("facilities", ["name,tz,region", "Hall,UTC,North"], "--dry-run")).toEqual(dry);
    expect(counts(where)).toEqual({ accounts: 1, regions: 1, facilities: 0, booths: 0 });
  });

  it("reports every mistake with its line, and then imports nothing", async () => {
    const { where, put } = await prepared();
    await put("facilities", ["name,tz", "Hall,UTC"]);
    const { code, said } = await put("booths", [
      "facility,serial_number,bay_count,account",
      "Hall,ABCD-0001,1,",
      "Hall,ABCD-0002,two,",
      "Nowhere,ABCD-0003,1,",
      "Hall,??,1,",
      "Hall,abcd-0001,1,",
      "Hall,ABCD-0006,1",
      "Hall,,1,",
      "Hall,ABCD-0008,1,Nobody",
    ]);
    expect(code).toBe(1);
    expect(said).toEqual([
      "line 3: bad field bay_count: a whole number from 1 to 99 is needed",
      'line 4: there is no facility "Nowhere" in "Main": import the facilities first',
      'line 5: serial_number: "??" can\'t be a serial number',
      'line 6: the serial number "ABCD-0001" is in line 2 already',
      "line 7: 3 cells, but the header has 4",
      "line 8: serial_number must not be empty",
      'line 9: there is no account "Nobody": import the accounts first',
      "7 mistakes; nothing was imported.",
    ]);
    expect(counts(where)).toMatchObject({ booths: 0 });
    const zone = await put("facilities", ["name,tz,working_hours", "East,Mars/One,", "West,UTC,always"]);
    expect(zone.said).toEqual([
      "line 2: bad field tz: unknown time zone",
      'line 3: working_hours: "always" is not like "mon-fri 08:00-17:30"',
      "2 mistakes; nothing was imported.",
    ]);
  });

  it("reports a file that it can't read as a table, and wrong arguments", async () => {
    const { options, folder, put } = await prepared();
    expect((await put("booths", ["facility,serial", "Hall,ABCD-0001"])).said[0]).toBe(
      "line 1: the column serial_number is missing",
    );
    expect((await put("booths", ["facility,serial_number", 'Hall,"ABCD'])).code).toBe(1);
    expect((await put("booths", Buffer.from([0x66, 0xe9]))).said[0]).toBe(
      "line 1: the file is not UTF-8: save it as CSV UTF-8",
    );
    expect(await run("import", "gateways", "x.csv", ...options)).toMatchObject({ code: 2 });
    expect(await run("import", "booths", join(folder, "absent.csv"), ...options)).toMatchObject({ code: 1 });
    expect(await run("import", "--help")).toMatchObject({ code: 0, err: [] });
    const empty = store();
    const file = join(folder, "booths.csv");
    writeFileSync(file, `${BOOTHS.join("\n")}\n`);
    expect(await run("import", "booths", file, ...empty.options)).toMatchObject({
      code: 1,
      err: ["the database has no account: run booth-sim service init first."],
    });
  });
});
