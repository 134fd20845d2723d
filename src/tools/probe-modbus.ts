import { message, type Text } from "../domain/message.ts";
import type { DeviceObject, PlcTools, ToolConnection } from "../acquisition/port.ts";
import { LinkError, type LinkErrorKind } from "../domain/link-error.ts";
import type { Milliseconds } from "../domain/units.ts";
import type { Io } from "./command.ts";

const TIMES = { connect_ms: 2500, answer_ms: 1000 } as const;
const ROUND_TRIPS = 10;
/** The maximum number of connections to try. A gateway, an HMI and a programmer need no more connections. */
const MOST_CONNECTIONS = 4;
/** The number of attempts to connect again, because a small PLC frees a connection only some time after it was closed. */
const REOPEN_TRIES = 3;
const REOPEN_PAUSE_MS = 300;
/** Exception codes of a gateway whose target device does not answer (Modbus Application Protocol V1.1b3, 7). */
const ABSENT: readonly number[] = [10, 11];
const NOT_COUNTED = { connections: null, connections_tried: 0 };
const BLOCK = { table: "holding", address: 0, count: 1 } as const;

/** The answer at a unit id. breaks_off: the connection ends at this unit id, although another unit has answered. */
export type UnitAnswer = "answers" | "silent" | "absent" | "breaks_off";

export type ModbusFinding =
  | {
      readonly kind: "modbus";
      readonly units: readonly { readonly unit: number; readonly answer: UnitAnswer }[];
      /** The median of the round trips; null if none succeeded. */
      readonly round_trip_ms: Milliseconds | null;
      readonly round_trips: number;
      /**
       * The number of connections that were open and answered at the same time, at most four; null if not counted, as on the agent's shared
       * link.
       */
      readonly connections: number | null;
      readonly connections_tried: number;
      /** The identification of the first unit that answers; null if that unit gives no identification. */
      readonly identification: readonly DeviceObject[] | null;
      /** The connection's failure at the request for the identification; null without a failure. */
      readonly identification_failure: LinkErrorKind | null;
    }
  /** The device accepts connections, but none of the units answers. */
  | { readonly kind: "no_unit"; readonly tried: readonly number[]; readonly absent: boolean }
  | { readonly kind: "none"; readonly why: LinkErrorKind; readonly reason: Text };

interface Device {
  readonly host: string;
  readonly port: number;
}

/** The result of probing an address. */
export interface ProbeFinding extends Device {
  readonly modbus: ModbusFinding;
  /** True if an OPC UA server answers at its usual port. */
  readonly opcua: boolean;
  readonly opcua_port: number;
}

interface Ask extends Pick<Io, "signal" | "progress"> {
  readonly tools: PlcTools;
}

/**
 * Probes a device. Opens a new connection after each failure, for two reasons: a late answer could be taken for the next request's answer,
 * and many servers close the connection at an unknown request. Keeps the results before a failure. Asks for the identification last,
 * because some servers close the connection at that request. Rejects with the LinkError that says why the device does not answer Modbus.
 */
export async function probeModbus(device: Device, units: readonly number[], ask: Ask): Promise<ModbusFinding> {
  const link = reopening(device, ask);
  try {
    const answers = await askUnits(link, units, ask);
    const unit = answers.find(({ answer }) => answer === "answers")?.unit;
    if (unit === undefined)
      return { kind: "no_unit", tried: units, absent: answers.some(({ answer }) => answer === "absent") };
    const times = await measure(link, unit, ask);
    link.close();
    const counted = ask.tools.sharedLink(device) === null ? await countConnections(device, unit, ask) : NOT_COUNTED;
    const identified = await identificationOf(link, unit, ask);
    const sorted = times.toSorted((a, b) => a - b);
    const middle = ((sorted[(sorted.length - 1) >> 1] ?? 0) + (sorted[sorted.length >> 1] ?? 0)) / 2;
    const round_trip_ms = sorted.length === 0 ? null : Math.round(middle * 100) / 100;
    return { kind: "modbus", units: answers, round_trip_ms, round_trips: times.length, ...counted, ...identified };
  } finally {
    link.close();
  }
}

async function askUnits(link: Reopening, units: readonly number[], ask: Ask) {
  const answers: { readonly unit: number; readonly answer: UnitAnswer }[] = [];
  for (const [index, unit] of units.entries()) {
    ask.progress(message("probe.unit_step", { unit, number: index + 1, of: units.length }));
    const isKnown = answers.some(({ answer }) => answer === "answers");
    // Stops if a device that has answered accepts no more connections, because further units would not answer either.
    if (isKnown && !(await link.connects())) break;
    const answer = await link
      .use(async (connection): Promise<UnitAnswer> => {
        const got = await connection.registers(unit, BLOCK);
        return got.kind === "exception" && ABSENT.includes(got.code) ? "absent" : "answers";
      })
      .catch((error: unknown) => failedAnswer(error, isKnown));
    answers.push({ unit, answer });
  }
  return answers;
}

/**
 * Returns the unit's result for a failed request. Throws if no unit has answered yet and the connection was closed or the answer isn't
 * Modbus: such a failure concerns all units.
 */
function failedAnswer(error: unknown, isKnown: boolean): UnitAnswer {
  if (!(error instanceof LinkError)) throw error;
  if (error.kind === "timeout" && error.message.startsWith("no answer")) return "silent";
  if (isKnown) return "breaks_off";
  throw error;
}

/** Measures up to ROUND_TRIPS round trips, or fewer if the connection fails. */
async function measure(link: Reopening, unit: number, { tools, progress }: Ask): Promise<readonly number[]> {
  progress(message("probe.round_trip"));
  const times: number[] = [];
  try {
    while (times.length < ROUND_TRIPS) {
      const start = tools.mono();
      await link.use((connection) => connection.registers(unit, BLOCK));
      times.push(tools.mono() - start);
    }
  } catch (error) {
    if (!(error instanceof LinkError)) throw error;
  }
  return times;
}

async function identificationOf(link: Reopening, unit: number, { tools, signal, progress }: Ask) {
  progress(message("probe.identification"));
  try {
    await tools.sleep(REOPEN_PAUSE_MS, signal);
    const identification = await link.use((connection) => connection.identify(unit));
    return { identification, identification_failure: null };
  } catch (error) {
    if (!(error instanceof LinkError)) throw error;
    return { identification: null, identification_failure: error.kind };
  }
}

type Reopening = ReturnType<typeof reopening>;

/** Returns a connection that opens when it is first used, and again after each failure. */
function reopening(device: Device, { tools, signal }: Ask) {
  let current: ToolConnection | null = null;
  let hasConnected = false;
  const close = (): void => {
    current?.close();
    current = null;
  };
  const connect = async (): Promise<ToolConnection> => {
    for (let tries = 1; ; tries++) {
      const connection = tools.connect(device, TIMES);
      current = connection;
      try {
        await connection.open();
        hasConnected = true;
        return connection;
      } catch (error) {
        close();
        if (!hasConnected || tries === REOPEN_TRIES) throw error;
        await tools.sleep(REOPEN_PAUSE_MS, signal);
      }
    }
  };
  const use = async <T>(action: (connection: ToolConnection) => Promise<T>): Promise<T> => {
    signal.throwIfAborted();
    signal.addEventListener("abort", close, { once: true });
    try {
      return await action(current ?? (await connect()));
    } catch (error) {
      close();
      signal.throwIfAborted();
      throw error;
    } finally {
      signal.removeEventListener("abort", close);
    }
  };
  /** Returns true if the device accepts a connection. */
  const connects = (): Promise<boolean> =>
    use(() => Promise.resolve(true)).catch((error: unknown) => {
      if (error instanceof LinkError) return false;
      throw error;
    });
  return { close, use, connects };
}

/**
 * Opens connections one after the other and keeps all of them open. Counts those that answer, because a PLC may accept a connection and
 * then drop it.
 */
async function countConnections(device: Device, unit: number, { tools, signal, progress }: Ask) {
  progress(message("probe.counting"));
  const open: ToolConnection[] = [];
  const closeAll = (): void => open.forEach((connection) => connection.close());
  signal.addEventListener("abort", closeAll, { once: true });
  let answered = 0;
  try {
    await tools.sleep(REOPEN_PAUSE_MS, signal);
    while (answered === open.length && open.length < MOST_CONNECTIONS) {
      const connection = tools.connect(device, TIMES);
      open.push(connection);
      const answers = connection.open().then(() => connection.registers(unit, BLOCK));
      answered += await answers.then(
        () => 1,
        () => 0,
      );
    }
    signal.throwIfAborted();
    return { connections: answered, connections_tried: open.length };
  } finally {
    signal.removeEventListener("abort", closeAll);
    closeAll();
  }
}
