import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { storePath } from "../../src/store/open.ts";
import { emptyRot, filledStore, judgeCopy, type StoreImage } from "./bit-rot.ts";

const PAGE_BYTES = 512;
const WAL_HEAD_BYTES = 32;
const FRAME_BYTES = 24 + PAGE_BYTES;
/**
 * Number of commits with 30 readings each: two closed chunks of 4,000 records and 35 open rows, as after six minutes
 * without a chunk.
 */
const COMMITS = 300;
/** Maximum number of pages of a kind that are damaged, spread evenly. */
const MOST_OF_A_KIND = 12;

/** The loss caused by one damaged page, over all tested pages of that kind. */
export interface PageLoss {
  readonly kind: string;
  readonly pages: number;
  readonly records: number;
  readonly mean: number;
  readonly most: number;
  /** Number of wrong values, and of records missing without a gap record. */
  readonly wrong: number;
  readonly examples: readonly string[];
}

interface Place {
  readonly name: string;
  readonly at: number;
}

/**
 * Fills one page after the other with zeros, each in its own copy, opens the copy like an agent, and counts the lost
 * records by kind of page.
 */
export function spoilPages(folder: string): readonly PageLoss[] {
  const { images, truth } = filledStore(join(folder, "whole"), COMMITS);
  const places = Map.groupBy(placesIn(folder, images), ({ kind }) => kind);
  return [...places].map(([kind, all]) => {
    const step = Math.ceil(all.length / MOST_OF_A_KIND);
    const tried = all.filter((_, index) => index % step === 0);
    const losses = tried.map((place) => {
      const rot = emptyRot(1);
      const copy = join(folder, "copy");
      mkdirSync(copy);
      for (const { name, bytes } of images)
        writeFileSync(join(copy, name), name === place.name ? zeroed(bytes, place.at) : bytes);
      judgeCopy(rot, { copy, truth, what: `${place.name} at ${place.at}` });
      rmSync(copy, { recursive: true });
      return rot;
    });
    const lost = losses.map(({ lost: records }) => records);
    return {
      kind,
      pages: all.length,
      records: truth.size,
      mean: Math.round((10 * lost.reduce((sum, one) => sum + one, 0)) / lost.length) / 10,
      most: Math.max(...lost),
      wrong: losses.reduce((sum, { wrong }) => sum + wrong, 0),
      examples: losses.flatMap(({ examples }) => examples),
    };
  });
}

function zeroed(bytes: Buffer, at: number): Buffer {
  const spoilt = Buffer.from(bytes);
  spoilt.fill(0, at, at + PAGE_BYTES);
  return spoilt;
}

/** Returns every page of the database file by its kind, and every page image of the write-ahead log. */
function placesIn(folder: string, images: readonly StoreImage[]): readonly (Place & { readonly kind: string })[] {
  const [main, wal] = images;
  if (main === undefined || wal === undefined) throw new Error("a store has a database file and a write-ahead log");
  const copy = join(folder, "kinds");
  mkdirSync(copy);
  writeFileSync(storePath(copy), main.bytes);
  const db = new Database(storePath(copy));
  const pages = db
    .prepare<[], { pageno: number; name: string; pagetype: string; path: string }>(
      "SELECT pageno, name, pagetype, path FROM dbstat",
    )
    .all();
  db.close();
  const small = new Set(pages.map(({ name }) => name).filter((name) => !["log", "fact"].includes(name)));
  const found = pages.map(({ pageno, name, pagetype, path }) => {
    const isRoot = path === "/" && name === "log";
    const kind = pageno === 1 ? "header" : small.has(name) ? "small tables" : `${name} ${isRoot ? "root" : pagetype}`;
    return { kind, name: main.name, at: (pageno - 1) * PAGE_BYTES };
  });
  return [...found, ...framesBeforeLastCommit(wal).map((at) => ({ kind: "write-ahead log", name: wal.name, at }))];
}

/**
 * Returns the positions of page images in the write-ahead log, except for the last commit. If that one is damaged, it
 * looks like one torn by a power cut and is dropped.
 */
function framesBeforeLastCommit({ bytes }: StoreImage): readonly number[] {
  const frames = Math.floor((bytes.length - WAL_HEAD_BYTES) / FRAME_BYTES);
  const heads = Array.from({ length: frames }, (_, frame) => WAL_HEAD_BYTES + frame * FRAME_BYTES);
  const commits = heads.filter((at) => bytes.readUInt32BE(at + 4) > 0);
  const before = commits.at(-2) ?? 0;
  return heads.filter((at) => at <= before).map((at) => at + 24);
}
