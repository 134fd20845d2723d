import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { HttpError } from "./base/errors.ts";
import { importFile } from "./operate/import.ts";
import { initialize, mainAccount, newAdminKey } from "./operate/init.ts";
import { KINDS } from "./operate/kinds.ts";
import { startFailure } from "./start-failure.ts";
import { storeCommand } from "./ingest/commands.ts";
import { type Db, row } from "./storage/db.ts";
import { isPostgres, openDb } from "./storage/open.ts";
import { errorMessage } from "../../src/domain/error-message.ts";

export interface CommandIo {
  readonly out: (line: string) => void;
  readonly err: (line: string) => void;
  /**
   * Shows progress on one line of a terminal that is overwritten. Absent: there is no terminal, so no progress is
   * shown.
   */
  readonly show?: (text: string) => void;
  /** Aborted when the command must end. */
  readonly signal: AbortSignal;
}

const STORE_HELP = `  --store URL      PostgreSQL database (postgres://user@host/name); its password is in the file of $PGPASSFILE
  --data DIR       folder of SQLite's database instead (default ./data/service)`;

const INIT_HELP = `booth-sim service init: prepare a database, before the service's first start.

Creates the tables, an account with a default region, and an admin key. Prints the key once, alone, on standard output:
  KEY=$(booth-sim service init --store postgres://booth@db.example.com/booth --account "Example Booths")

${STORE_HELP}
  --account NAME   name of the operator's own account (default Main)
  --new-key        make another admin key of an existing account, if the first is lost
  --help           show this help`;

const IMPORT_HELP = `booth-sim service import KIND FILE.csv: import many accounts, facilities or booths.

The file is CSV in UTF-8 with a header line, separated by commas, semicolons or tabs. It is imported completely, or not at
all if a line has a mistake. Rows that exist get the cells that differ, so a file can be imported again.

${Object.entries(KINDS).map(kindHelp).join("\n")}

  account          an account's name (default: --account); region: created if it is new
  tz               an IANA zone: America/Chicago; working_hours: mon-fri 08:00-17:30; sat 09:00-12:00

${STORE_HELP}
  --account NAME   account of the lines that name none (default: the operator's own)
  --dry-run        check everything, store nothing
  --help           show this help`;

/** Returns the columns of a kind: the required ones, then the optional ones. */
function kindHelp([name, { columns }]: [string, (typeof KINDS)[string]]): string {
  const optional = columns.optional.join(", ").match(/.{1,80}(?:, |$)/g) ?? [];
  const lines = [`needs ${columns.required.join(", ")}`, "may have", ...optional.map((line) => `  ${line.trim()}`)];
  return lines.map((line, nth) => `  ${(nth === 0 ? name : "").padEnd(16)} ${line}`).join("\n");
}

const STORE = {
  store: { type: "string" },
  data: { type: "string", default: "./data/service" },
  account: { type: "string" },
  help: { type: "boolean", default: false },
} as const;
const INIT_OPTIONS = { ...STORE, "new-key": { type: "boolean", default: false } } as const;
const IMPORT_OPTIONS = { ...STORE, "dry-run": { type: "boolean", default: false } } as const;

/** Maximum number of mistakes that are printed. */
const MAX_SHOWN = 100;
const MAX_FILE_BYTES = 64 * 1024 * 1024;

const ROTATE_HELP = `booth-sim service rotate GATEWAY: order a gateway to make itself a new credential.

The gateway gets the order with its next heartbeat, uses the new credential once over HTTPS, and then at its broker.

${STORE_HELP}
  --help           show this help`;

const ROTATE_OPTIONS = { store: STORE.store, data: STORE.data, help: STORE.help } as const;
/** A gateway that is away for longer doesn't get the order. */
const ROTATE_WITHIN_MS = 7 * 86_400_000;

type Command = (argv: readonly string[], io: CommandIo) => number;

/** Commands that prepare a database and end. Exit code 0: done; 1: refused or failed; 2: wrong arguments. */
export const OPERATOR_COMMANDS: Readonly<Record<string, Command>> = { init, import: importCommand, rotate };

interface Where {
  readonly store?: string | undefined;
  readonly data: string;
}

/** Opens the database, and reports a failure as one sentence. */
function withDb({ store, data }: Where, io: CommandIo, work: (db: Db) => number): number {
  try {
    const db = openDb(store ?? data);
    try {
      return work(db);
    } finally {
      db.close();
    }
  } catch (error) {
    io.err(error instanceof HttpError ? `${error.message}.` : startFailure(error, { store, data }));
    return 1;
  }
}

function checkStore({ store }: Where): void {
  if (store !== undefined && !isPostgres(store))
    throw new Error("--store must be a postgres:// URL; use --data for a folder");
}

function usage(io: CommandIo, error: unknown): number {
  io.err(`${errorMessage(error)} (see --help)`);
  return 2;
}

function init(argv: readonly string[], io: CommandIo): number {
  let values;
  try {
    ({ values } = parseArgs({ args: [...argv], options: INIT_OPTIONS, strict: true }));
    checkStore(values);
    if (values.account?.trim() === "") throw new Error("--account must not be empty");
  } catch (error) {
    return usage(io, error);
  }
  if (values.help) {
    io.out(INIT_HELP);
    return 0;
  }
  const { account: name = "Main", "new-key": isNewKey } = values;
  return withDb(values, io, (db) => {
    const known = mainAccount(db);
    if (isNewKey && known !== undefined) {
      io.out(newAdminKey(db, known, Date.now()));
      io.err(`The key above is a new admin key of the account "${known.name}". It is shown only now.`);
      return 0;
    }
    const made = initialize(db, { name: name.trim(), now: Date.now() });
    if (made === undefined) {
      const of = known === undefined ? "" : ` "${known.name}"`;
      io.err(`The database has the account${of} already. Nothing was changed; --new-key makes another admin key.`);
      return 1;
    }
    io.out(made.key);
    io.err(
      `The key above is the admin key of the account "${made.account.name}". It is shown only now: store it safely.`,
    );
    return 0;
  });
}

function rotate(argv: readonly string[], io: CommandIo): number {
  let parsed;
  try {
    parsed = parseArgs({ args: [...argv], options: ROTATE_OPTIONS, strict: true, allowPositionals: true });
    checkStore(parsed.values);
  } catch (error) {
    return usage(io, error);
  }
  const { values, positionals } = parsed;
  if (values.help) {
    io.out(ROTATE_HELP);
    return 0;
  }
  const [gateway_id = "", ...more] = positionals;
  if (gateway_id === "" || more.length > 0) return usage(io, new Error("rotate needs the id of one gateway"));
  return withDb(values, io, (db) => {
    if (row(db, "SELECT 1 AS known FROM gateways WHERE id = ?", gateway_id) === undefined) {
      io.err(`There is no gateway ${gateway_id}. "booth-gateway status" shows its id.`);
      return 1;
    }
    const now = Date.now();
    storeCommand(db, { gateway_id, type: "rotate_key", args: {}, expires_at: now + ROTATE_WITHIN_MS }, now);
    io.out(`${gateway_id} gets the order with its next heartbeat.`);
    return 0;
  });
}

function importCommand(argv: readonly string[], io: CommandIo): number {
  let parsed;
  try {
    parsed = parseArgs({ args: [...argv], options: IMPORT_OPTIONS, strict: true, allowPositionals: true });
    checkStore(parsed.values);
  } catch (error) {
    return usage(io, error);
  }
  const { values, positionals } = parsed;
  if (values.help) {
    io.out(IMPORT_HELP);
    return 0;
  }
  const [kind = "", file = "", ...more] = positionals;
  if (!Object.hasOwn(KINDS, kind) || file === "" || more.length > 0)
    return usage(io, new Error(`import needs one of ${Object.keys(KINDS).join(", ")}, and one file`));
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (error) {
    io.err(`The file ${file} can't be read: ${errorMessage(error)}.`);
    return 1;
  }
  if (bytes.length > MAX_FILE_BYTES) {
    io.err(`The file ${file} is larger than 64 MB. Split it; each part is imported by itself.`);
    return 1;
  }
  const { account, "dry-run": isDryRun } = values;
  return withDb(values, io, (db) => {
    const found = importFile(db, bytes, { kind, account, isDryRun, now: Date.now() });
    for (const { line, text } of found.errors.slice(0, MAX_SHOWN)) io.err(`${file}:${line}: ${text}`);
    if (found.errors.length > 0) {
      const count = found.errors.length === 1 ? "1 mistake" : `${found.errors.length} mistakes`;
      io.err(`${count}; nothing was imported.`);
      return 1;
    }
    const counts = `${found.created} created, ${found.changed} changed, ${found.unchanged} unchanged`;
    io.out(isDryRun ? `dry run of ${kind}, nothing stored: ${counts}` : `${kind}: ${counts}`);
    return 0;
  });
}
