import { randomBytes, randomUUID } from "node:crypto";
import { createServiceTime } from "../../src/acquisition/clock.ts";
import type { Tail } from "../../src/acquisition/port.ts";
import { parametersOf } from "../../src/config/parameters.ts";
import { inspectText, type ReadyBooth } from "../../src/config/usable.ts";
import { createServiceApi } from "../../src/delivery/http/service-api.ts";
import { ServiceLinkError } from "../../src/domain/link-error.ts";
import type { Logger, Random } from "../../src/domain/machine.ts";
import { type Agent, startAgent } from "../../src/runtime/agent.ts";
import { openSealer } from "../../src/runtime/secrets.ts";
import { systemdNotify } from "../../src/runtime/service-manager.ts";
import { deriveFold } from "../../src/store/facts/fold.ts";
import { openIdentity } from "../../src/store/identity/identity.ts";
import { keepStore } from "../../src/store/thread/keeper.ts";
import type { Booth } from "../plc/model/booth.ts";
import type { VirtualClock } from "./clock.ts";
import { virtualDriver } from "./driver.ts";
import { inlineIdentity, inlineStore } from "./store.ts";

interface LonelyOptions {
  /** The agent's data folder; the next agent continues from it. */
  readonly dataDir: string;
  readonly clock: VirtualClock;
  /** The booth to read. Its story is a function of the time. */
  readonly booth: Booth;
  /** The booth's configuration. */
  readonly ready: ReadyBooth;
}

interface LonelyGateway {
  readonly agent: Agent;
  /** Commits the readings and closes the folder. */
  stop(): Promise<void>;
}

/** Returns the only booth of a configuration. Relative paths start from `path`. */
export function onlyBooth(text: string, path: string): ReadyBooth {
  const [ready] = inspectText(text, path).booths;
  if (ready === undefined) throw new Error("the configuration has no booth");
  return ready;
}

/** A long interval, because each commit costs a transaction and no screen shows the state. */
const COMMIT_INTERVAL_MS = 6 * 3_600_000;
/** A long interval, because no service needs the heartbeats. */
const HEARTBEAT_INTERVAL_MS = 6 * 3_600_000;
/** Longer than the last poll and commit take. */
const STOP_WITHIN_MS = 60_000;

/** Runs the real agent with its real store under virtual time. It reads a booth and reaches no service. */
export async function lonelyGateway({ dataDir, clock, booth, ready }: LonelyOptions): Promise<LonelyGateway> {
  const { config, profile } = ready;
  const random = ownRandom();
  const writer = keepStore({
    dataDir,
    ballast_bytes: 0,
    fold: deriveFold,
    uuid: () => random.uuid(),
    now: () => clock.mono(),
    wall: () => clock.wall(),
  });
  const identity = openIdentity(dataDir, () => random.uuid());
  const service_time = createServiceTime();
  const sealer = openSealer(dataDir);
  const stopping = new AbortController();
  const agent = await startAgent(
    {
      clock,
      random,
      log: SILENT,
      notify: systemdNotify({}),
      service_time,
      sealer,
      store: inlineStore(writer),
      identity: inlineIdentity(identity),
      tail: noTail(),
      version: "0.0.0",
      service_url: null,
      broker_url: null,
      backlog_rate: null,
      commit_interval_ms: COMMIT_INTERVAL_MS,
      heartbeat_interval_ms: HEARTBEAT_INTERVAL_MS,
      figures: () => Promise.reject(new Error("there is no service to compare with")),
      secrets: { firstKey: () => null, wipeFirstKey: () => null },
      api: createServiceApi({
        http: NO_WAY,
        clock,
        random,
        service_time,
        sealer,
        agentVersion: "0.0.0",
        hardwareId: "virtual",
      }),
      link: { connect: () => Promise.reject(new ServiceLinkError("unreachable", "there is no service yet")) },
      booths: [
        {
          config,
          profile,
          parameters: parametersOf(profile, config),
          address: "virtual",
          makeDriver: () => virtualDriver({ booth, profile, clock }),
        },
      ],
    },
    stopping.signal,
  );
  return {
    agent,
    async stop() {
      let over = false;
      stopping.abort(new Error("stopped"));
      const ended = agent.finished.finally(() => (over = true));
      await Promise.all([ended, clock.runUntil(() => over, STOP_WITHIN_MS)]);
      writer.close();
      identity.close();
    },
  };
}

/** A tail that stores nothing: if a run is aborted, its whole folder is deleted and made again. */
function noTail(): Tail {
  return { leftover: () => [], append: () => undefined, committed: () => undefined, close: () => undefined };
}

const NO_WAY = { send: () => Promise.reject(new Error("there is no service yet")), close: (): void => undefined };

const quiet = (): void => undefined;
const SILENT: Logger = { debug: quiet, info: quiet, warn: quiet, error: quiet };

function ownRandom(): Random {
  return {
    next: () => randomBytes(6).readUIntBE(0, 6) / 2 ** 48,
    uuid: () => randomUUID(),
    bytes: (count) => randomBytes(count),
  };
}
