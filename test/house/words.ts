import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import ts from "typescript";

/** Words that had a meaning of this house's own, and the one in use for that now. docs/reference/glossary.md explains these. */
const OLD_WORDS = new Map([
  ["base", "snapshot"],
  ["bases", "snapshots"],
  ["terms", "context records"],
  ["bell", "signal"],
  ["bells", "signals"],
  ["board", "booth state"],
  ["boards", "booth states"],
  ["office", "remote commands"],
  ["desk", "remote commands, sessions, PLC tools, booth fields"],
  ["door", "page listener, or port"],
  ["doors", "page listener, or port"],
  ["visit", "shared link"],
  ["visits", "shared link"],
  ["lend", "shared link"],
  ["lent", "shared link"],
  ["lending", "shared link"],
  ["borrowed", "shared link"],
  ["turn", "lock, beat, due, next action"],
  ["turns", "read-write lock"],
  ["patient", "retrying"],
  ["patiently", "retrying"],
  ["pump", "sender"],
  ["gear", "system tests"],
  ["tail", "open stage"],
  ["taken", "acked"],
  ["witness", "doubted counter, re-offered record, restart evidence"],
]);

/** Names in which such a word has its one meaning of today, or the field's. */
const EXCEPTIONS = new Map([
  ["tail", "the file of taken polls"],
  ["Tail", "the file of taken polls"],
  ["openTail", "the file of taken polls"],
  ["tellDamagedTail", "the file of taken polls"],
  ["taken", "in the tail file"],
  ["TakenEntry", "in the tail file"],
  ["TakenPoll", "in the tail file"],
  ["TakenChange", "in the tail file"],
  ["TakenRecord", "in the tail file"],
  ["TAKEN_OVER", "MQTT's session taken over"],
  ["taken-back", "to take back: an entry is undone"],
  ["TakenBack", "to take back"],
  ["takenBack", "to take back"],
  ["takenBackFrom", "to take back"],
  ["keyTaken", "the claim key is in use by another"],
  ["TagBase", "fields that all kinds have"],
  ["ProfileBase", "fields that all kinds have"],
  ["RecordBase", "fields that all kinds have"],
  ["RTU_TURN_ROUND_MS", "a serial line's turn-around"],
]);

export interface OldWord {
  readonly name: string;
  readonly path: string;
  /** The present wording. */
  readonly now: string;
}

/** Names of files of src, and of what they declare at their top, that still have a word in its old meaning. */
export function oldWordsIn(root: string): readonly OldWord[] {
  return readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts"))
    .map((path) => join("src", path))
    .flatMap((path) => [basename(path, ".ts"), ...declaredIn(join(root, path))].map((name) => ({ name, path })))
    .flatMap(({ name, path }) => {
      const word = EXCEPTIONS.has(name) ? undefined : wordsOf(name).find((one) => OLD_WORDS.has(one));
      return word === undefined ? [] : [{ name, path, now: OLD_WORDS.get(word) ?? "" }];
    });
}

function wordsOf(name: string): readonly string[] {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z0-9]+/);
}

function declaredIn(file: string): readonly string[] {
  const source = ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest);
  return source.statements.flatMap((statement) => {
    if (ts.isVariableStatement(statement))
      return statement.declarationList.declarations.flatMap(({ name }) => (ts.isIdentifier(name) ? [name.text] : []));
    const named = ts.isFunctionDeclaration(statement) || ts.isClassDeclaration(statement);
    if (named || ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement))
      return statement.name === undefined ? [] : [statement.name.text];
    return [];
  });
}
