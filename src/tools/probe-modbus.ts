import { message, type Text } from "../domain/message.ts";
import type { DeviceObject, PlcTools, ToolConnection } from "../acquisition/port.ts";
import { LinkError, type LinkErrorKind } from "../domain/link-error.ts";
import type { Milliseconds } from "../domain/units.ts";
import type { Io } from "./command.ts";

const TIMES = { connect_ms: 2500, answer_ms: 1000 } as const;
const ROUND_TRIPS = 10;
/** A gateway, an HMI and a programmer need no more. */
const MOST_CONNECTIONS = 4;
/** A small PLC frees the place of a connection some time after its end. */
const REOPEN_TRIES = 3;
const REOPEN_PAUSE_MS = 300;
/** A gateway's exceptions for a device that isn't there (Modbus Application Protocol V1.1b3, 7). */
const ABSENT: readonly number[] = [10, 11];
const NOT_COUNTED = { connections: null, connections_tried: 0 };
const BLOCK = { table: "holding", address: 0, count: 1 } as const;

/** breaks_off: the connection ends at this unit id, although another unit has answered. */
export type UnitAnswer = "answers" | "silent" | "absent" | "breaks_off";

export type ModbusFinding =
  | {
      readonly kind: "modbus";
      readonly units: readonly { readonly unit: number; readonly answer: UnitAnswer }[];
      /** The median of the round trips; null if none succeeded. */
      readonly round_trip_ms: Milliseconds | null;
      readonly round_trips: number;
      /** Connections that were open and answered at the same time, at most four; null if not counted, as on the agent's shared link. */
      readonly connections: number | null;
      readonly connections_tried: number;
      /** The identification of the first unit that answers; null if it gives none. */
      readonly identification: readonly DeviceObject[] | null;
      /** How the connection failed at the request for the identification; null if it didn't. */
      readonly identification_failure: LinkErrorKind | null;
    }
  /** It connects, and none of the units is there. */
  | { readonly kind: "no_unit"; readonly tried: readonly number[]; readonly absent: boolean }
  | { readonly kind: "none"; readonly why: LinkErrorKind; readonly reason: Text };

interface Device {
  readonly host: string;
  readonly port: number;
}

/** The answers at an address. */
export interface ProbeFinding extends Device {
  readonly modbus: ModbusFinding;
  /** Whether an OPC UA server answers at its usual port. */
  readonly opcua: boolean;
  readonly opcua_port: number;
}

interface Ask extends Pick<Io, "signal" | "progress"> {
  readonly tools: PlcTools;
}

/**
 * Probes a device over one connection, and over a new one after each failure: the late answer to a timed out request would be taken
 * for the next one's, and many servers close the connection at a request that they don't know. Results before a failure are kept.
 * Identification comes last, because some servers close at it. Rejects with the LinkError that says why there is no Modbus.
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
    // A device that has answered and accepts no more connections has given all that it will.
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

/** If no unit has answered yet, a closed connection or an answer that isn't Modbus holds for all units. */
function failedAnswer(error: unknown, isKnown: boolean): UnitAnswer {
  if (!(error instanceof LinkError)) throw error;
  if (error.kind === "timeout" && error.message.startsWith("no answer")) return "silent";
  if (isKnown) return "breaks_off";
  throw error;
}

/** Measures up to ROUND_TRIPS round trips, fewer if the connection fails. */
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

/** A connection that is opened when it is needed, and again after each failure. */
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
  const use = async <T>(act: (connection: ToolConnection) => Promise<T>): Promise<T> => {
    signal.throwIfAborted();
    signal.addEventListener("abort", close, { once: true });
    try {
      return await act(current ?? (await connect()));
    } catch (error) {
      close();
      signal.throwIfAborted();
      throw error;
    } finally {
      signal.removeEventListener("abort", close);
    }
  };
  /** Whether the device accepts a connection. */
  const connects = (): Promise<boolean> =>
    use(() => Promise.resolve(true)).catch((error: unknown) => {
      if (error instanceof LinkError) return false;
      throw error;
    });
  return { close, use, connects };
}

/** Opens connections in turn and closes none before the last. Counts those that answer, because a PLC may accept and then drop one. */
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
