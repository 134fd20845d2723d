import { parentPort, workerData } from "node:worker_threads";
import { fleetClock } from "./clock.ts";
import { runFleet } from "./fleet.ts";
import { lookInto } from "./look.ts";
import type { FromThread, Phase, Share, ToThread } from "./threads.ts";

/** A share of a fleet's gateways, in a thread of its own. */
const port = parentPort;
if (port === null) throw new Error("this is the entry of a thread");
const { speed, ...options } = workerData as Share;
const say = (message: FromThread): void => port.postMessage(message);
const stopping = new AbortController();
const phases = new Map<Phase, () => void>();
const asked = Promise.withResolvers<Extract<ToThread, { kind: "account" }>>();

port.on("message", (message: ToThread) => {
  if (message.kind === "stop") stopping.abort();
  else if (message.kind === "go") phases.get(message.phase)?.();
  else asked.resolve(message);
});

/** Waits until all threads have reached the phase. */
function reach(phase: Phase): Promise<void> {
  return new Promise((resolve) => {
    phases.set(phase, resolve);
    say({ kind: "reached", phase });
  });
}

const ran = await runFleet({
  ...options,
  clock: fleetClock(speed),
  signal: stopping.signal,
  told: (line) => say({ kind: "told", line }),
  show: ({ acks, ...state }) => say({ kind: "state", state, acks: acks.counts() }),
  claimed: () => reach("claimed"),
  draining: () => reach("draining"),
});
const { all, recent: _, events, ...counters } = ran.meter;
const { faults, returned } = ran;
say({ kind: "ran", counters, events: [...events], all: all.counts(), faults, returned });
const { store, contents } = await asked.promise;
const look = await lookInto(store);
say({ kind: "account", account: await ran.account(look, contents) });
await look.close();
port.close();
