import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { runProgram } from "../support/processes.ts";
import { temporaryFolder } from "../support/temporary.ts";

const CHECKER = fileURLToPath(new URL("check.mjs", import.meta.url));

type Row = readonly [
  stream: string,
  seq: number,
  kind: string,
  tag: string,
  boot: string,
  mono: string,
  value: string,
  quality: string,
];

const rowOf = (seq: number, value = `{"b":[1,{"2":2,"10":1.5}],"a":${seq}}`): Row => [
  "s",
  seq,
  "r",
  "temperature",
  "boot",
  `${seq * 10}.5`,
  value,
  "good",
];
const hashOf = (seq: number, value = `{"a":${seq},"b":[1,{"10":1.5,"2":2}]}`): string =>
  createHash("sha256")
    .update(`["r","temperature","boot",${seq * 10}.5,${value},"good"]`)
    .digest("hex")
    .slice(0, 16);
const offer = (id: string, from: number, hashes: readonly string[]): object => ({
  t: 1,
  gateway: "g",
  stream: "s",
  offer: id,
  from,
  hashes,
});
const ack = (id: string, [from, to]: readonly [number, number], refused: readonly number[] = []): object => ({
  t: 2,
  gateway: "g",
  stream: "s",
  ack: id,
  from,
  to,
  refused,
});

/** Seqs 1 to 3 are offered twice, because their first ack got lost. Seq 6 is offered, stored and never acked. */
const HISTORY = [
  offer(
    "1",
    1,
    [1, 2, 3].map((seq) => hashOf(seq)),
  ),
  offer(
    "2",
    1,
    [1, 2, 3].map((seq) => hashOf(seq)),
  ),
  ack("2", [1, 3]),
  offer(
    "3",
    4,
    [4, 5, 6].map((seq) => hashOf(seq)),
  ),
  ack("3", [4, 5], [5]),
];
const ROWS = [1, 2, 3, 4, 6].map((seq) => rowOf(seq));

async function check(history: readonly object[], rows: readonly Row[]) {
  const folder = temporaryFolder();
  const files = { history: join(folder, "history.jsonl"), rows: join(folder, "rows.jsonl") };
  writeFileSync(files.history, history.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
  writeFileSync(files.rows, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  return runProgram(CHECKER, ["--history", files.history, "--rows", files.rows]);
}

describe("the independent checker", () => {
  it("finds no fault in a delivery with a repeated offer, a refused record and a lost ack", async () => {
    expect(await check(HISTORY, ROWS)).toMatchObject({
      code: 0,
      out: "6 records offered, 4 acked, 5 stored\n",
      err: "",
    });
  });

  it.each([
    { fault: "lost", history: HISTORY, rows: ROWS.slice(1), line: "lost: 1 (s 1)" },
    { fault: "doubled", history: HISTORY, rows: [...ROWS, rowOf(3)], line: "stored twice: 1 (s 3)" },
    { fault: "altered", history: HISTORY, rows: [...ROWS.slice(1), rowOf(1, "7")], line: "altered: 1 (s 1)" },
    {
      fault: "acked but never offered",
      history: [...HISTORY, ack("3", [6, 7])],
      rows: ROWS,
      line: "acked but never offered: 1 (s 7)",
    },
    {
      fault: "acked without any offer",
      history: [...HISTORY, ack("9", [1, 1])],
      rows: ROWS,
      line: "acked but never offered: 1 (s 1)",
    },
    {
      fault: "stored but never offered",
      history: HISTORY,
      rows: [...ROWS, rowOf(9)],
      line: "stored but never offered: 1 (s 9)",
    },
    {
      fault: "acked with two contents",
      history: [...HISTORY, offer("4", 2, [hashOf(2, "7")]), ack("4", [2, 2])],
      rows: ROWS,
      line: "acked with two contents: 1 (s 2)",
    },
    {
      fault: "stored with an offered content that was not acked",
      history: [offer("0", 2, [hashOf(2, "7")]), ...HISTORY],
      rows: [...ROWS.filter(([, seq]) => seq !== 2), rowOf(2, "7")],
      line: "stored with another content than acked: 1 (s 2)",
    },
    {
      fault: "a history that reached its limit",
      history: [...HISTORY, { full: true }],
      rows: ROWS,
      line: "incomplete history: 1 (it reached its size limit)",
    },
  ])("finds a planted fault: $fault", async ({ history, rows, line }) => {
    const { code, out } = await check(history, rows);
    expect(code).toBe(1);
    expect(out.trim().split("\n").slice(1)).toEqual([line]);
  });

  it("ends with 2 if an argument or a file is missing", async () => {
    expect(await runProgram(CHECKER, ["--rows", "x"])).toMatchObject({
      code: 2,
      err: "--history is missing (see --help)\n",
    });
    expect(await runProgram(CHECKER, ["--history", "none", "--rows", "none"])).toMatchObject({ code: 2 });
  });

  it("has at most 200 lines and imports modules of Node only", () => {
    const text = readFileSync(CHECKER, "utf8");
    expect(text.split("\n").length).toBeLessThanOrEqual(200);
    const imports = [...text.matchAll(/^import .* from "(.*)";$/gm)].map(([, name]) => name);
    expect(imports).toEqual(["node:child_process", "node:crypto", "node:fs"]);
    expect(text).not.toMatch(/\brequire\b|\bimport\(/);
  });
});
