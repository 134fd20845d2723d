/**
 * Runs the gateway with a loop that a test can break: `BREAK_LOOP` names the loop, and SIGUSR2 makes it throw. From
 * then on every other loop, each call of a thread and a connection to `HELD_PORT` hang.
 */
import { connect } from "node:net";
import { Worker } from "node:worker_threads";
import { dispatch } from "../../src/cli/dispatch.ts";
import { terminalIo } from "../../src/cli/terminal.ts";
import { PROGRAM } from "../../src/runtime/commands.ts";
import { runWatched } from "../../src/runtime/compose.ts";
import type { LoopWatch } from "../../src/runtime/parts.ts";

const bug = Promise.withResolvers<never>();
let isBroken = false;
process.once("SIGUSR2", () => {
  Worker.prototype.postMessage = () => undefined;
  connect(Number(process.env["HELD_PORT"]), "127.0.0.1").on("error", () => undefined);
  isBroken = true;
  bug.reject(new Error("a bug"));
});
const runLoop: LoopWatch["runLoop"] = async (name, loop, signal) => {
  if (name === process.env["BREAK_LOOP"]) return Promise.race([loop(signal), bug.promise]);
  await loop(signal).catch(() => undefined);
  return isBroken ? new Promise(() => undefined) : undefined;
};
const runOf = (name: string) =>
  name === "run"
    ? Promise.resolve((call: Parameters<typeof runWatched>[0]) => runWatched(call, runLoop))
    : PROGRAM.runOf(name);
process.exitCode = await dispatch({ ...PROGRAM, version: "0.0.0", runOf }, process.argv.slice(2), terminalIo());
