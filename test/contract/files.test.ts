import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { offeredOf, parseMessage } from "../../simulators/service/ingest/chunk-message.ts";
import { parseBatch, type Offered } from "../../simulators/service/ingest/batch.ts";
import { rangeHash } from "../../simulators/service/ingest/canonical.ts";
import { unpack } from "../../simulators/service/ingest/unpack.ts";
import { OPERATIONS as BOX } from "../../src/api/operations.ts";
import { SERVICE_OPERATIONS } from "../../src/contract/operations.ts";
import { sha256 } from "../../src/contract/hash.ts";
import { breakingChanges, type Entries, entriesIn, entriesOfDocument, relaxAnswers, textOf } from "./files/breaking.ts";
import { CONTRACT_FOLDER, contractOf, frozenEntries } from "./files/files.ts";
import type { Json } from "./files/json.ts";
import { type AckVector, type HashVector, type MessageVector, played } from "./files/vectors.ts";

const frozen = frozenEntries();
const contract = contractOf(frozen);
const inFile = (name: string): string => readFileSync(join(CONTRACT_FOLDER, name), "utf8");

/** Removes compressed bytes, which another release of zlib may write differently. */
const withoutBytes = (text: string): string => text.replaceAll(/"payload": "[0-9a-f]*"/g, '"payload"');
/** Also removes the hashes of such bytes. */
const comparable = (name: string, text: string): string =>
  /vectors\/(chunks|acks)/.test(name)
    ? withoutBytes(text).replaceAll(/"(hash|chunk)": "[0-9a-f]{64}"/g, "")
    : withoutBytes(text);

it.each(Object.entries(contract.files))(
  "contract/%s is what npm run contract makes from the running tables",
  (name, text) => {
    expect(comparable(name, inFile(name)), "run npm run contract").toBe(comparable(name, text));
  },
);

it("the contract's folders have no other generated files", () => {
  const made = Object.keys(contract.files).filter((name) => name.includes("/"));
  const found = ["schemas", "vectors"].flatMap((folder) =>
    readdirSync(join(CONTRACT_FOLDER, folder)).map((name) => `${folder}/${name}`),
  );
  expect(found.sort()).toEqual(made.sort());
});

it("openapi.yaml has every operation of the interface document, and local-api.yaml those that the box serves", () => {
  const operations = (place: string): string[] =>
    [...contract.entries.values()]
      .filter(({ name, type }) => type === "operation" && name.startsWith(`${place} `))
      .map(({ name }) => name.slice(place.length + 1));
  const document = SERVICE_OPERATIONS.map(({ method, path }) => `${method} ${path}`);
  expect(operations("service")).toEqual(expect.arrayContaining(document));
  const served = BOX.map(({ method, path }) => `${method} ${path}`).filter((name) => document.includes(name));
  expect(operations("box").sort()).toEqual(served.sort());
});

it("the contract has no breaking change against its frozen version 1, and each name is frozen", () => {
  expect(breakingChanges(frozen, contract.entries)).toEqual([]);
  expect(
    [...contract.entries.keys()].filter((name) => !frozen.has(name)),
    "run npm run contract",
  ).toEqual([]);
});

/** A small document for changes. */
function documentOf(change: (document: Json) => void = () => undefined): Json {
  const document = {
    components: {
      schemas: {
        Booth: {
          type: "object",
          properties: {
            id: { type: "string" },
            status: { type: "string", enum: ["active", "idle"] },
            width: { anyOf: [{ type: "string" }, { type: "null" }] },
            old: { type: "string", deprecated: true },
          },
          required: ["id", "old"],
        },
      },
    },
    paths: {
      "/api/booths/{id}": {
        get: {
          parameters: [
            { name: "id", in: "path", required: true },
            { name: "search", in: "query" },
          ],
          responses: {
            "200": { content: { "application/json": { schema: { $ref: "#/components/schemas/Booth" } } } },
          },
        },
        put: {
          requestBody: {
            content: { "application/json": { schema: { type: "object", properties: { width: { type: "string" } } } } },
          },
          responses: { "204": {} },
        },
      },
    },
  };
  change(document);
  return document;
}

function entriesOf(document: Json): Entries {
  return entriesIn(textOf(new Map(entriesOfDocument(document, "service").map((entry) => [entry.name, entry]))));
}

/** Returns the value at a path of keys. */
function at(document: Json, ...path: readonly string[]): Json {
  return path.reduce<Json>((value, key) => value[key] as Json, document);
}
const booth = (document: Json): Json => at(document, "components", "schemas", "Booth");
const path = (document: Json): Json => at(document, "paths", "/api/booths/{id}");
const body = (document: Json): Json =>
  at(path(document), "put", "requestBody", "content", "application/json", "schema");

it.each<readonly [what: string, change: (document: Json) => void, found: RegExp]>([
  ["a removed operation", (document) => void delete path(document)["put"], /^removed: service PUT/],
  [
    "an operation at another path",
    (document) => {
      const paths = at(document, "paths");
      paths["/api/booth/{id}"] = path(document);
      delete paths["/api/booths/{id}"];
    },
    /^removed: service GET/,
  ],
  ["a removed property", (document) => void delete at(booth(document), "properties")["width"], /removed: .* 200 width/],
  [
    "a removed query parameter",
    (document) => void (at(path(document), "get")["parameters"] as Json[]).pop(),
    /removed: .* query search/,
  ],
  [
    "a property that becomes required",
    (document) => void (body(document)["required"] = ["width"]),
    /became required: .* body width/,
  ],
  [
    "a new required property of a request",
    (document) => {
      at(body(document), "properties")["unit"] = { type: "string" };
      body(document)["required"] = ["unit"];
    },
    /new and required: .* body unit/,
  ],
  [
    "another type",
    (document) => void (at(booth(document), "properties")["id"] = { type: "integer" }),
    /changed its type/,
  ],
  [
    "a removed word of a list",
    (document) => void (at(booth(document), "properties")["status"] = { type: "string", enum: ["active"] }),
    /changed its type/,
  ],
])("the comparison with version 1 reports %s as breaking", (_, change, found) => {
  expect(breakingChanges(entriesOf(documentOf()), entriesOf(documentOf(change)))[0]).toMatch(found);
});

it.each<readonly [what: string, change: (document: Json) => void]>([
  ["no change", () => undefined],
  ["a new operation", (document) => void (path(document)["delete"] = { responses: { "204": {} } })],
  ["a new optional property", (document) => void (at(body(document), "properties")["unit"] = { type: "string" })],
  [
    "a new word of a list",
    (document) => void (at(booth(document), "properties")["status"] = { enum: ["active", "idle", "off"] }),
  ],
  ["a removed property that was deprecated", (document) => void delete at(booth(document), "properties")["old"]],
])("the comparison with version 1 accepts %s", (_, change) => {
  expect(breakingChanges(entriesOf(documentOf()), entriesOf(documentOf(change)))).toEqual([]);
});

it("a field that an answer gets after version 1 is optional in the contract", () => {
  const later = documentOf((document) => {
    at(booth(document), "properties")["note"] = { type: "string" };
    booth(document)["required"] = ["id", "note"];
  });
  relaxAnswers(later, "service", entriesOf(documentOf()));
  expect(booth(later)["required"]).toEqual(["id"]);
});

const vectors = <T>(name: string): T[] => JSON.parse(inFile(`vectors/${name}.json`)) as T[];
function rowOf({ seq, kind, tag, boot, mono, time, value, quality }: Offered): unknown {
  return { seq, kind, tag, boot, mono, time, value: JSON.parse(value) as unknown, quality };
}

it.each(vectors<HashVector>("hashes"))("the hash vector is right: $meaning", ({ records, bytes, hash }) => {
  const contents = records.map(({ value, ...record }) => ({ ...record, value: offeredValue(value) }));
  expect(rangeHash(contents)).toBe(hash);
  expect(sha256(Buffer.from(bytes, "hex"))).toBe(hash);
});

/** Returns the value as the service reads it from a message. */
function offeredValue(value: unknown): string {
  const batch = {
    v: 1,
    gw: "g",
    gen: 1,
    st: "s",
    s0: 1,
    t0: 0,
    mono0: 0,
    boot: "b",
    tags: [""],
    k: ["e"],
    g: [0],
    dt: [0],
  };
  const parsed = parseBatch({ ...batch, val: [value] });
  return "error" in parsed ? "" : (parsed.records[0]?.value ?? "");
}

it.each([...vectors<MessageVector>("batches"), ...vectors<MessageVector>("chunks")])(
  "the service reads a message vector as it says: $meaning",
  ({ topic, payload, records, error, hash }) => {
    const bytes = Buffer.from(payload, "hex");
    const read = topic === "up/chunk" ? readChunk(bytes) : readBatch(bytes);
    if (records !== undefined) expect(read).toEqual({ records, hash });
    else if (!/foreign_gateway|not_bound|generation/.test(error ?? "")) expect(read.error).toMatch(error ?? "-");
    const [step] = played([{ topic, payload }]);
    expect(step?.ack).toMatchObject(error === undefined ? { n: records?.length } : { n: 0 });
    expect(JSON.stringify(step?.ack["error"] ?? "")).toMatch(new RegExp(`^"${error ?? ""}`));
    if (error === undefined) expect(Object.values(step?.ack ?? {})).toContain(hash);
  },
);

interface ReadMessage {
  readonly records?: readonly unknown[];
  readonly hash?: string;
  readonly error?: string;
}

function readChunk(bytes: Uint8Array): ReadMessage {
  const message = parseMessage(bytes);
  return "error" in message
    ? { error: message.error }
    : { records: offeredOf(message).map(rowOf), hash: sha256(bytes) };
}

function readBatch(bytes: Uint8Array): ReadMessage {
  const unpacked = unpack(bytes);
  if ("error" in unpacked) return { error: unpacked.error };
  const batch = parseBatch(unpacked.batch);
  return "error" in batch
    ? { error: batch.error }
    : { records: batch.records.map(rowOf), hash: rangeHash(batch.records) };
}

it.each(vectors<AckVector>("acks"))("the service answers as an ack vector says: $meaning", ({ steps }) => {
  expect(played(steps)).toEqual(steps);
});
