import { readFileSync, rmSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { isAlive } from "../support/processes.ts";
import { outcomeOf } from "./program.ts";

const USUAL_MS = 60_000;
const run = (program: string, limit_ms = USUAL_MS) => outcomeOf(["--eval", program], limit_ms, process.env);

describe("a program of the benchmark", () => {
  it("resolves with its message after it ends", async () => {
    expect(await run("process.send([1], () => process.exit())")).toEqual({ kind: "done", message: [1] });
  });

  it("fails if it ends with an error, by a signal, or without a message", async () => {
    expect(await run("process.exitCode = 3; process.send([1]); process.disconnect()")).toEqual({
      kind: "failed",
      why: "ended with 3",
    });
    expect(await run("process.kill(process.pid, 'SIGTERM')")).toEqual({ kind: "failed", why: "ended with SIGTERM" });
    expect(await run("process.disconnect()")).toEqual({ kind: "failed", why: "ended without a result" });
  });

  it("fails at its time limit, and is killed together with the programs that it started", async () => {
    const endless = "setInterval(() => undefined, 1000)";
    const started = `const { pid } = require("node:child_process").spawn(process.execPath, ["--eval", "${endless}"]);`;
    // Only a program that has ended could be asked for its message, so the id goes by a file.
    const file = `${process.env["TMPDIR"] ?? "/tmp"}/bench-program-${process.pid}`;
    const written = `require("node:fs").writeFileSync("${file}", String(pid)); ${endless}`;
    expect(await run(`${started} ${written}`, 3_000)).toEqual({ kind: "failed", why: "no result within 3 s" });
    const pid = Number(readFileSync(file, "utf8"));
    rmSync(file);
    await eventually("the started program has ended", () => (isAlive(pid) ? undefined : true));
  });
});
