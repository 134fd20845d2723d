import { setTimeout as sleep } from "node:timers/promises";
import { GATEWAY } from "../support/processes.ts";
import { drainingBed } from "./busy.ts";
import { withCleanUp, type BenchOptions } from "./figure.ts";
import { startPlcs } from "./plcs.ts";
import { withProgram, type AgentProgram } from "./running-agent.ts";

const BOOTHS = 64;
const MEASURED_MS = { quick: 10_000, full: 80_000 };
const WAITING_DAYS = { quick: 1, full: 4 };
/** All of the log but the records that are made meanwhile. */
const DRAINED = 0.99;

/**
 * Writes CPU profiles of the agent, a file for each thread, with 64 booths that are polled and while a log is delivered. Chrome's
 * developer tools open them. The agent runs from its sources, so that functions have their names and places.
 */
export async function writeProfiles(folder: string, { quick }: BenchOptions): Promise<void> {
  const length = quick ? "quick" : "full";
  const profiled = (name: string): AgentProgram => {
    const options = ["--cpu-prof", `--cpu-prof-dir=${folder}/${name}`];
    return { command: process.execPath, args: [...options, GATEWAY], env: process.env };
  };
  await withCleanUp(async (atEnd) => {
    const { booths } = await startPlcs(BOOTHS, atEnd);
    await withProgram(profiled("polling"), { booths }, () => sleep(MEASURED_MS[length]));
  });
  await withCleanUp(async (atEnd) => {
    const { box } = await drainingBed(WAITING_DAYS[length], atEnd);
    await withProgram(profiled("draining"), box, (agent) =>
      agent.once("the log is delivered", ({ booths: [first] }) =>
        first === undefined ? false : first.log.acked_seq > DRAINED * first.log.newest_seq,
      ),
    );
  });
}
