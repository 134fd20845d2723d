// Needs a Debian package: postgresql-15.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { clockFileText, clockFromNow } from "../../simulators/clock.ts";
import { placeFleet } from "../../simulators/fleet/cli.ts";
import { invite } from "../../simulators/service/accounts/users.ts";
import { type Db, row, run } from "../../simulators/service/storage/db.ts";
import { openDb } from "../../simulators/service/storage/open.ts";
import { eventually } from "../support/eventually.ts";
import { MANY_PROCESSES_MS, type Program, SIMULATORS, startProgram } from "../support/processes.ts";
import { ofTest, temporaryFolder } from "../support/temporary.ts";
import { postgresPart } from "./parts.ts";

/** A database with one booth. */
async function store(): Promise<{ readonly db: Db; readonly url: string; readonly folder: string }> {
  const folder = temporaryFolder();
  const postgres = await postgresPart(folder, ofTest);
  await postgres.start();
  placeFleet(postgres.url, 1, "fleet-admin");
  const db = openDb(postgres.url);
  onTestFinished(() => db.close());
  return { db, url: postgres.url, folder };
}

interface Figures {
  readonly program: Program;
  /** Whether this process evaluates, as its metrics say. */
  readonly evaluates: () => Promise<boolean>;
}

async function figures(url: string, argv: readonly string[] = []): Promise<Figures> {
  const program = startProgram(SIMULATORS, ["service", "--role", "figures", "--store", url, ...argv]);
  const line = await program.line(/^service figures/, MANY_PROCESSES_MS);
  const vitals = /vitals (\S+)/.exec(line)?.[1] ?? "";
  const evaluates = async (): Promise<boolean> => {
    const answer = await fetch(`${vitals}/metrics`);
    return /^booth_service_evaluates 1$/m.test(await answer.text());
  };
  return { program, evaluates };
}

const holderOf = (db: Db): string | undefined =>
  row<{ holder: string }>(db, "SELECT holder FROM leases WHERE name = 'evaluate'")?.holder;

/** Waits until a process has the lease that another holder had, and says that it evaluates. Returns the new holder. */
async function taken(db: Db, { evaluates }: Figures, from?: string): Promise<string> {
  const holder = await eventually("another holder", () => {
    const found = holderOf(db);
    return found === from ? undefined : found;
  });
  await eventually("it evaluates", async () => ((await evaluates()) ? true : undefined));
  return holder;
}

it(
  "if the process that evaluates is frozen or killed, its lease ends and another process evaluates",
  async () => {
    const { db, url } = await store();
    const one = await figures(url);
    const first = await taken(db, one);
    const other = await figures(url);
    one.program.signal("SIGSTOP");
    const second = await taken(db, other, first);
    one.program.signal("SIGCONT");
    await eventually("the first notices it", async () => ((await one.evaluates()) ? undefined : true));
    expect(holderOf(db)).toBe(second);
    other.program.signal("SIGKILL");
    expect(await taken(db, one, second)).toBe(first);
  },
  MANY_PROCESSES_MS,
);

it(
  "figures take their time from --clock-file, and warn once of mails that wait because no server is set",
  async () => {
    const { db, url, folder } = await store();
    const file = join(folder, "clock.json");
    const begun = Date.UTC(2031, 4, 6);
    writeFileSync(file, clockFileText(clockFromNow(1, begun)));
    const account = row<{ id: string }>(db, "SELECT id FROM accounts")?.id ?? "";
    const user = { id: "u1", email: "ann@example.com" };
    const sql =
      "INSERT INTO users (id, account_id, user_name, email, role, created_at) VALUES (?, ?, 'Ann', ?, 'user', ?)";
    run(db, sql, user.id, account, user.email, begun);
    // Due a day before the simulated now, which for the machine's clock is years ahead.
    invite({ db, publicUrl: "", queuesMails: true }, user, { kind: "invitation", now: begun - 86_400_000 });
    const { program } = await figures(url, ["--clock-file", file]);
    const warning = /mails failed: they wait, because no mail server is set: use --smtp and --mail-from/;
    await program.line(warning, MANY_PROCESSES_MS);
    program.signal("SIGTERM");
    expect(await program.ended).toBe(0);
    expect(program.lines.filter((line) => warning.test(line))).toHaveLength(1);
    expect(row(db, "SELECT 1 FROM link_mails")).toBeDefined();
  },
  MANY_PROCESSES_MS,
);
