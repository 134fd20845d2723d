/**
 * The gateway's program, with a loop that can be broken: `BREAK_LOOP` names it, and SIGUSR2 breaks it. From then on everything that
 * can hang hangs: the other loops, each call of a thread, and a connection to `HELD_PORT`.
 */
import { connect } from "node:net";
import { Worker } from "node:worker_threads";
import { dispatch } from "../../src/cli/dispatch.ts";
import { terminalIo } from "../../src/cli/terminal.ts";
import { PROGRAM } from "../../src/runtime/commands.ts";
import { runWatched } from "../../src/runtime/compose.ts";
import { breakableLoops } from "./broken-loop.ts";

const loops = breakableLoops({ hang: true });
process.once("SIGUSR2", () => {
  Worker.prototype.postMessage = () => undefined;
  connect(Number(process.env["HELD_PORT"]), "127.0.0.1").on("error", () => undefined);
  loops.breakLoop(process.env["BREAK_LOOP"] ?? "", new Error("a bug"));
});
const program = { ...PROGRAM, version: "0.0.0" };
const runOf = (name: string) => (name === "run" ? Promise.resolve(runOne) : program.runOf(name));
const runOne: Awaited<ReturnType<typeof program.runOf>> = (call) => runWatched(call, loops.runLoop);
process.exitCode = await dispatch({ ...program, runOf }, process.argv.slice(2), terminalIo());
