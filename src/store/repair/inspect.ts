import { statSync } from "node:fs";
import Database from "better-sqlite3";
import type { StoreCheck, StoreProgress, StreamInfo } from "../port.ts";
import { createCheck } from "./check.ts";
import { storePath } from "../open.ts";
import { createQuarantine, type Finding } from "./quarantine.ts";
import { addRowSum, otherSchema, schemaOf, SCHEMA_VERSION } from "../schema.ts";
import { prepareReadStatements } from "../log/statements.ts";
import { infoOf } from "../log/streams.ts";
import { readWal } from "./wal.ts";

/** Looks through a store without changing anything, also while the agent runs. Throws where there is none, or it can't be read. */
export function inspectStore(dataDir: string, progress: StoreProgress): StoreCheck {
  const file = storePath(dataDir);
  const bytes = statSync(file).size;
  const found: Finding[] = [];
  const problems = readWal(file).end === "hurt" ? ["the write-ahead log breaks off before commits that it holds"] : [];
  const streams: Stream[] = [];
  let db: Database.Database | null = null;
  try {
    db = new Database(file, { readonly: true, fileMustExist: true });
    // All of it as it stood at one moment: the agent puts rows together meanwhile, and a row that has gone looks like damage.
    db.transaction(look)(db, { found, problems, streams, progress });
  } catch (error) {
    problems.push(error instanceof Error ? error.message : String(error));
  } finally {
    db?.close();
  }
  const all = streams.map((stream) => ({ ...stream, ...sumOf(found.filter((one) => one.stream === stream.stream)) }));
  return { file, bytes, sound: problems.length === 0 && found.length === 0, problems, streams: all };
}

type Stream = StoreCheck["streams"][number];

interface Looking {
  readonly found: Finding[];
  readonly problems: string[];
  readonly streams: Stream[];
  readonly progress: StoreProgress;
}

function look(db: Database.Database, { found, problems, streams, progress }: Looking): void {
  mustBeKnown(db);
  addRowSum(db);
  const verdicts = db.prepare<[], { quick_check: string }>("PRAGMA quick_check(20)").all();
  for (const { quick_check } of verdicts) if (quick_check !== "ok") problems.push(quick_check);
  const quarantine = createQuarantine(db, (finding) => void found.push(finding));
  const infos: StreamInfo[] = prepareReadStatements(db).allStreams.all().map(infoOf);
  for (const info of infos) {
    const none = { damaged_rows: 0, damaged_facts: 0, damaged_states: 0, missing: 0 };
    const { stream, booth, oldest_seq, newest_seq, acked_seq } = info;
    const quarantined = quarantine.count(stream);
    streams.push({ stream, booth, oldest_seq, newest_seq, acked_seq, ...none, quarantined });
  }
  const of = infos.reduce((sum, { oldest_seq, newest_seq }) => sum + newest_seq - oldest_seq + 1, 0);
  let done = 0;
  for (const info of infos) {
    const check = createCheck(
      quarantine,
      () => [info],
      (from) => progress(done + from - info.oldest_seq, of),
    );
    while (check());
    done += info.newest_seq - info.oldest_seq + 1;
  }
}

function mustBeKnown(db: Database.Database): void {
  const schema = schemaOf(db);
  if (schema !== SCHEMA_VERSION) throw new Error(otherSchema(schema));
}

/** Pieces of the check overlap: each row and seq is counted once. */
function sumOf(
  found: readonly Finding[],
): Pick<Stream, "damaged_rows" | "damaged_facts" | "damaged_states" | "missing"> {
  let [missing, end] = [0, 0];
  for (const [from, to] of found.flatMap((one) => one.missing).sort((a, b) => a[0] - b[0])) {
    missing += Math.max(0, to - Math.max(from - 1, end));
    end = Math.max(end, to);
  }
  return {
    damaged_rows: new Set(found.flatMap(({ rows }) => rows)).size,
    damaged_facts: new Set(found.flatMap(({ facts }) => facts)).size,
    damaged_states: new Set(found.flatMap(({ states }) => states)).size,
    missing,
  };
}
