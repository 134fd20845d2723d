#!/usr/bin/env node
/**
 * Judges a delivery from outside: compares a history of all offers and acks with the rows in the service's database. It
 * imports none of this repository's code, so a fault shared by the gateway and the service does not hide here.
 *
 * A history has one JSON object per line: {"t", "gateway", "stream", "offer": id, "from", "hashes": [...]} is sent
 * before {"t", "gateway", "stream", "ack": id, "from", "to", "refused": [...]}. A hash is the first 16 hex digits of the
 * SHA-256 of the record's line, as the contract defines it. {"full": true} ends a history that reached its size limit.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

const HELP = `check.mjs --history FILE [--history FILE] (--sqlite FILE | --rows FILE)

Compares a history of offers and acks with what the service stored. Ends with 0 if each acked record was offered and is
stored once with its content, with 1 if a fault was found, with 2 for wrong arguments or unreadable files.

  --history FILE   history, JSON lines; several are read as one
  --sqlite FILE    the service's database, read with the sqlite3 command
  --rows FILE      rows exported by other means: JSON lines [stream, seq, kind, tag, boot, mono, value, quality]`;

/** Faults that are listed of each kind. The count is exact. */
const LISTED = 5;

const ROWS = `SELECT json_array(s.stream_id, r.seq, r.kind, t.name, b.name, printf('%!.17g', r.mono), r.value, r.quality)
  FROM records r JOIN streams s ON s.id = r.stream_no JOIN names t ON t.id = r.tag JOIN names b ON b.id = r.boot`;

const linesOf = (text) => text.split("\n").filter((line) => line !== "");

/** Returns JSON text with sorted keys. A sorted object is not enough, because JavaScript moves keys like "10" forward. */
function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const keys = Object.keys(value).sort();
  return `{${keys.map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`).join(",")}}`;
}

function hashOf([, , kind, tag, boot, mono, value, quality]) {
  const names = [kind, tag, boot, Number(mono)].map((part) => JSON.stringify(part)).join(",");
  const line = `[${names},${canonical(JSON.parse(value))},${JSON.stringify(quality)}]`;
  return createHash("sha256").update(line).digest("hex").slice(0, 16);
}

/** Reads the offers of each seq and the content that was acked. */
function readHistory(files, fault) {
  const offers = new Map();
  const offered = new Map();
  const acked = new Map();
  for (const line of files.flatMap((file) => linesOf(readFileSync(file, "utf8")))) {
    const entry = JSON.parse(line);
    if (entry.full) fault("incomplete history", "it reached its size limit");
    else if (entry.offer !== undefined) {
      offers.set(`${entry.gateway} ${entry.offer}`, entry);
      entry.hashes.forEach((hash, index) => {
        const key = `${entry.stream} ${entry.from + index}`;
        offered.set(key, (offered.get(key) ?? new Set()).add(hash));
      });
    } else if (entry.ack !== undefined)
      readAck(entry, { offer: offers.get(`${entry.gateway} ${entry.ack}`), acked, fault });
    else throw new Error(`a line is neither an offer nor an ack: ${line.slice(0, 80)}`);
  }
  return { offered, acked };
}

function readAck({ stream, from, to, refused }, { offer, acked, fault }) {
  for (let seq = from; seq <= to; seq += 1) {
    const key = `${stream} ${seq}`;
    const hash = offer?.stream === stream ? offer.hashes[seq - offer.from] : undefined;
    if (hash === undefined) fault("acked but never offered", key);
    else if (refused.includes(seq)) continue;
    else if (acked.has(key) && acked.get(key) !== hash) fault("acked with two contents", key);
    else acked.set(key, hash);
  }
}

function judge(rows, { offered, acked }, fault) {
  const stored = new Set();
  for (const row of rows) {
    const key = `${row[0]} ${row[1]}`;
    const hash = hashOf(row);
    if (stored.has(key)) fault("stored twice", key);
    stored.add(key);
    if (!offered.has(key)) fault("stored but never offered", key);
    else if (!offered.get(key).has(hash)) fault("altered", key);
    else if (acked.has(key) && acked.get(key) !== hash) fault("stored with another content than acked", key);
  }
  for (const key of acked.keys()) if (!stored.has(key)) fault("lost", key);
  return stored.size;
}

function rowsOf(database) {
  const { status, stdout, stderr, error } = spawnSync("sqlite3", ["-readonly", database, ROWS], {
    encoding: "utf8",
    maxBuffer: 1 << 30,
  });
  if (error !== undefined || status !== 0)
    throw new Error(`sqlite3 cannot read ${database}: ${error?.message ?? stderr}`);
  return stdout;
}

function optionsOf(args) {
  const options = { history: [] };
  for (let at = 0; at < args.length; at += 2) {
    const [name, value] = args.slice(at, at + 2);
    if (value === undefined || !["--history", "--sqlite", "--rows"].includes(name))
      throw new Error(`wrong argument ${name}`);
    if (name === "--history") options.history.push(value);
    else options[name.slice(2)] = value;
  }
  if (options.history.length === 0) throw new Error("--history is missing");
  if ((options.sqlite === undefined) === (options.rows === undefined)) throw new Error("give --sqlite or --rows");
  return options;
}

function main(args) {
  if (args.includes("--help")) {
    console.log(HELP);
    return 0;
  }
  const faults = new Map();
  const fault = (kind, where) => faults.set(kind, [...(faults.get(kind) ?? []), where]);
  let counts;
  try {
    const { history, sqlite, rows } = optionsOf(args);
    const text = sqlite === undefined ? readFileSync(rows, "utf8") : rowsOf(sqlite);
    const heard = readHistory(history, fault);
    const stored = judge(
      linesOf(text).map((line) => JSON.parse(line)),
      heard,
      fault,
    );
    counts = `${heard.offered.size} records offered, ${heard.acked.size} acked, ${stored} stored`;
  } catch (error) {
    console.error(`${error.message} (see --help)`);
    return 2;
  }
  console.log(counts);
  for (const [kind, places] of faults) {
    const more = places.length > LISTED ? ", ..." : "";
    console.log(`${kind}: ${places.length} (${places.slice(0, LISTED).join(", ")}${more})`);
  }
  return faults.size === 0 ? 0 : 1;
}

process.exitCode = main(process.argv.slice(2));
