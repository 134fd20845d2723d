import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync, linkSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { markOf, wipeState } from "../../src/runtime/decommission.ts";
import { temporaryFolder } from "../support/temporary.ts";

const KEYS = ["identity.db", "identity.db-wal", "identity.copy.db", "opcua/own/private.pem", "last-good.json"];

function stateFolders(): { readonly data_dir: string; readonly runtime_dir: string; readonly elsewhere: string } {
  const data_dir = temporaryFolder();
  const runtime_dir = temporaryFolder();
  const elsewhere = temporaryFolder();
  mkdirSync(join(data_dir, "opcua/own"), { recursive: true });
  for (const name of [...KEYS, "store.db", "store.db-wal", "ballast"]) writeFileSync(join(data_dir, name), "a secret");
  for (const name of ["tail.jsonl", "agent.sock"]) writeFileSync(join(runtime_dir, name), "polls");
  return { data_dir, runtime_dir, elsewhere };
}

it("a full wipe removes all keys and data except the mark file, and overwrites the keys' bytes on disk", () => {
  const folders = stateFolders();
  // A second name keeps the file's bytes in sight.
  for (const [index, name] of KEYS.entries())
    linkSync(join(folders.data_dir, name), join(folders.elsewhere, String(index)));
  expect(markOf(folders)).toBe(null);
  wipeState(folders, "all");
  expect(readdirSync(folders.data_dir)).toEqual(["decommissioned"]);
  expect(readdirSync(folders.runtime_dir)).toEqual(["agent.sock"]);
  const left = readdirSync(folders.elsewhere).map((name) => readFileSync(join(folders.elsewhere, name), "utf8"));
  expect(left).toEqual(KEYS.map(() => "\0".repeat("a secret".length)));
});

it.each(["all", "keys"] as const)(
  "a wipe (%s) that a power cut interrupts is completed as its mark file says",
  (wiped) => {
    const folders = stateFolders();
    wipeState(folders, wiped);
    expect(markOf(folders)).toEqual({ path: join(folders.data_dir, "decommissioned"), wiped });
    writeFileSync(join(folders.data_dir, "identity.db"), "a secret");
    wipeState(folders, markOf(folders)?.wiped ?? "all");
    expect(existsSync(join(folders.data_dir, "identity.db"))).toBe(false);
  },
);

it("a wipe of keys keeps all records in the store and in the tail file (readings not yet committed)", () => {
  const folders = stateFolders();
  wipeState(folders, "keys");
  expect(readdirSync(folders.data_dir).sort()).toEqual(["decommissioned", "store.db", "store.db-wal"]);
  expect(readdirSync(folders.runtime_dir).sort()).toEqual(["agent.sock", "tail.jsonl"]);
});

it("a mark file that a power cut left empty causes a wipe of the keys only", () => {
  const folders = stateFolders();
  writeFileSync(join(folders.data_dir, "decommissioned"), "");
  expect(markOf(folders)?.wiped).toBe("keys");
});
