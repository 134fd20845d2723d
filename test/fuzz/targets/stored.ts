import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { openTail } from "../../../src/acquisition/tail.ts";
import { emptyRot, judgeCopy, filledStore, type StoreImage } from "../../store/bit-rot.ts";
import type { Judge, Target, Verdict } from "../target.ts";

const MEMORY = "/dev/shm";

function inFolder<T>(act: (folder: string) => T): T {
  const folder = mkdtempSync(join(existsSync(MEMORY) ? MEMORY : tmpdir(), "bg-fuzz-"));
  try {
    return act(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Judges a tail file after a crash or bit rot: each line with its checksum is an entry, and nothing else is. */
const judgeTail: Judge = (input) =>
  inFolder((folder) => {
    writeFileSync(join(folder, "tail.jsonl"), input);
    const tail = openTail(folder);
    const found = tail.leftover();
    const damaged = tail.damaged?.() ?? 0;
    tail.close();
    const lines = input.toString("utf8").split("\n").slice(0, -1);
    const whole = lines.filter((line) => line[8] === " " && sumOf(line.slice(9)) === line.slice(0, 8));
    const bodies = whole.map((line) => JSON.stringify(JSON.parse(line.slice(9))));
    if (JSON.stringify(bodies) !== JSON.stringify(found.map((entry) => JSON.stringify(entry))))
      return { wrong: "other entries than the lines whose checksum holds" };
    if (damaged !== lines.length - whole.length) return { wrong: `${damaged} damaged lines told` };
    return damaged === 0 && whole.length > 0 ? "taken" : "refused";
  });

function sumOf(body: string): string {
  return crc32(body).toString(16).padStart(8, "0");
}

export const tail: Target = { name: "tail", format: "text", ci_runs: 1_000, open: () => judgeTail };

const MILLION = 1_000_000;
const SECTOR_BYTES = 512;
/** A line of an input: a damage to a file, with its position in millionths of the file. */
const HARM = /^(flip|zero) (store\.db(?:-wal)?) (\d{1,6}) (\d+)$/;

/** Returns copies with a damage per line; null: the text has other lines. */
function harmed(images: readonly StoreImage[], text: string): readonly StoreImage[] | null {
  const lines = text.split("\n").filter((line) => line !== "");
  const found = lines.map((line) => HARM.exec(line));
  if (found.length === 0 || found.includes(null)) return null;
  const copies = images.map(({ name, bytes }) => ({ name, bytes: Buffer.from(bytes) }));
  for (const match of found) {
    const [, harm, file, place, value] = match ?? [];
    const bytes = copies.find(({ name }) => name === file)?.bytes ?? Buffer.of();
    const at = Math.floor((Number(place) * bytes.length) / MILLION);
    if (harm === "flip") bytes[at] = (bytes[at] ?? 0) ^ (1 << (Number(value) & 7));
    else bytes.fill(0, at - (at % SECTOR_BYTES), at - (at % SECTOR_BYTES) + SECTOR_BYTES);
  }
  return copies;
}

/** Judges a damaged store of some thousand records: no value is wrong, and every missing record is declared. */
function judgeDatabase(): Judge {
  const { images, truth } = inFolder((folder) => filledStore(join(folder, "whole"), 120));
  return (input): Verdict =>
    inFolder((folder) => {
      const copies = harmed(images, input.toString("utf8"));
      if (copies === null) return "refused";
      const copy = join(folder, "copy");
      mkdirSync(copy);
      for (const { name, bytes } of copies) writeFileSync(join(copy, name), bytes);
      const result = emptyRot(1);
      judgeCopy(result, { copy, truth, what: input.toString("utf8").trim() });
      if (result.wrong > 0) return { wrong: result.examples.join("; ") };
      return result.harmless > 0 ? "taken" : "refused";
    });
}

/**
 * Adds a damage to the database, or a flipped bit to the write-ahead log: more damage in its last commit can't be
 * distinguished from a torn write.
 */
function otherHarm(input: Buffer, random: () => number): Buffer {
  const below = (limit: number): number => Math.floor(random() * limit);
  const place = (): string => below(MILLION).toString();
  if (random() < 0.2) return Buffer.from(`flip store.db-wal ${place()} ${below(8)}\n`);
  const lines = input
    .toString("utf8")
    .split("\n")
    .filter((line) => line !== "" && !line.includes("-wal") && random() < 0.5);
  const more = Array.from({ length: 1 + below(3) }, () =>
    random() < 0.8 ? `flip store.db ${place()} ${below(8)}` : `zero store.db ${place()} 0`,
  );
  return Buffer.from(`${[...lines, ...more].join("\n")}\n`);
}

export const database: Target = {
  name: "database",
  format: "text",
  ci_runs: 20,
  open: judgeDatabase,
  mutate: otherHarm,
};
