import { LinkError, type LinkErrorKind } from "../domain/link-error.ts";
import type { Milliseconds } from "../domain/units.ts";
import type { DeviceObject, PlcTools, ToolConnection } from "../acquisition/port.ts";

const TIMES = { connect_ms: 2500, answer_ms: 1000 } as const;
const ROUND_TRIPS = 10;
/** More than a gateway, an HMI and a programmer need nobody asks for. */
const MOST_CONNECTIONS = 4;
/** A small PLC frees a connection's place some time after its end. */
const REOPEN_TRIES = 3;
const REOPEN_PAUSE_MS = 300;
/** A gateway's own answer for a device that isn't there (Modbus Application Protocol V1.1b3, 7). */
const ABSENT: ReadonlySet<number> = new Set([10, 11]);
const NOT_COUNTED = { connections: null, connections_tried: 0 };
const BLOCK = { table: "holding", address: 0, count: 1 } as const;

/** breaks_off: the connection ends, where another unit has answered. */
export type UnitAnswer = "answers" | "silent" | "absent" | "breaks_off";

export type ModbusFinding =
  | {
      readonly kind: "modbus";
      readonly units: readonly { readonly unit: number; readonly answer: UnitAnswer }[];
      /** Median of those that were measured; null: none came through. */
      readonly round_trip_ms: Milliseconds | null;
      readonly round_trips: number;
      /** That were open and answered at once, up to four; null: not tried, the agent's own link is shared. */
      readonly connections: number | null;
      readonly connections_tried: number;
      /** Of the first unit that answers; null: it doesn't tell. */
      readonly identification: readonly DeviceObject[] | null;
      /** How the connection failed at the request for it; null: it didn't. */
      readonly identification_failure: LinkErrorKind | null;
    }
  /** It connects, and none of the units is there. */
  | { readonly kind: "no_unit"; readonly tried: readonly number[]; readonly absent: boolean }
  | { readonly kind: "none"; readonly why: LinkErrorKind; readonly reason: string };

/** What stands behind an address. */
export interface ProbeFinding extends Device {
  readonly modbus: ModbusFinding;
  /** Whether an OPC UA server answers at its usual port. */
  readonly opcua: boolean;
  readonly opcua_port: number;
}

interface Device {
  readonly host: string;
  readonly port: number;
}

interface Ask {
  readonly tools: PlcTools;
  readonly signal: AbortSignal;
  progress(text: string): void;
}

/**
 * One connection while answers come; a new one after a failure: a silence's answer could come late, and many a server closes at a
 * request that it doesn't know. What is known by then stays known: identification comes last, since some servers end at it.
 * Rejects with the LinkError that says why there is no Modbus.
 */
export async function probeModbus(device: Device, units: readonly number[], ask: Ask): Promise<ModbusFinding> {
  const link = reopening(device, ask);
  try {
    const answers = await askUnits(link, units, ask);
    const unit = answers.find(({ answer }) => answer === "answers")?.unit;
    if (unit === undefined) {
      return { kind: "no_unit", tried: units, absent: answers.some(({ answer }) => answer === "absent") };
    }
    const times = await measure(link, unit, ask);
    link.close();
    const counted = ask.tools.sharedLink(device) === null ? await countConnections(device, unit, ask) : NOT_COUNTED;
    const told = await identificationOf(link, unit, ask);
    const round_trip_ms = times.length === 0 ? null : Math.round(median(times) * 100) / 100;
    return { kind: "modbus", units: answers, round_trip_ms, round_trips: times.length, ...counted, ...told };
  } finally {
    link.close();
  }
}

async function askUnits(link: Reopening, units: readonly number[], ask: Ask) {
  const answers: { readonly unit: number; readonly answer: UnitAnswer }[] = [];
  for (const [index, unit] of units.entries()) {
    ask.progress(`unit id ${unit}, ${index + 1} of ${units.length}`);
    const isKnown = answers.some(({ answer }) => answer === "answers");
    // A device that has answered and takes no connection any more has told what it will.
    if (isKnown && !(await link.connects())) break;
    const answer = await link
      .use((one) => unitAnswer(one, unit))
      .catch((error: unknown) => failedAnswer(error, isKnown));
    answers.push({ unit, answer });
  }
  return answers;
}

/** Where no unit has answered yet, a connection that ends, or an answer that isn't Modbus, is as bad for all others. */
function failedAnswer(error: unknown, isKnown: boolean): UnitAnswer {
  if (!(error instanceof LinkError)) throw error;
  if (error.kind === "timeout" && error.message.startsWith("no answer")) return "silent";
  if (isKnown) return "breaks_off";
  throw error;
}

/** Up to ROUND_TRIPS of them; fewer where the connection fails. */
async function measure(link: Reopening, unit: number, ask: Ask): Promise<readonly number[]> {
  const { tools } = ask;
  ask.progress("round trip");
  const times: number[] = [];
  try {
    for (let i = 0; i < ROUND_TRIPS; i++) {
      const start = tools.mono();
      await link.use((one) => one.registers(unit, BLOCK));
      times.push(tools.mono() - start);
    }
  } catch (error) {
    if (!(error instanceof LinkError)) throw error;
  }
  return times;
}

/** A device that gives an identification that isn't one has none. */
async function identificationOf(link: Reopening, unit: number, ask: Ask) {
  ask.progress("identification");
  try {
    await ask.tools.sleep(REOPEN_PAUSE_MS, ask.signal);
    return { identification: await link.use((one) => one.identify(unit)), identification_failure: null };
  } catch (error) {
    if (!(error instanceof LinkError)) throw error;
    return { identification: null, identification_failure: error.kind };
  }
}

async function unitAnswer(connection: ToolConnection, unit: number): Promise<UnitAnswer> {
  const answer = await connection.registers(unit, BLOCK);
  return answer.kind === "exception" && ABSENT.has(answer.code) ? "absent" : "answers";
}

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return ((sorted[(sorted.length - 1) >> 1] ?? 0) + (sorted[sorted.length >> 1] ?? 0)) / 2;
}

type Reopening = ReturnType<typeof reopening>;

function reopening(device: Device, { tools, signal }: Ask) {
  let open: ToolConnection | null = null;
  let before = 0;
  const close = (): void => {
    open?.close();
    open = null;
  };
  const connect = async (): Promise<ToolConnection> => {
    for (let tries = 1; ; tries++) {
      const connection = tools.connect(device, TIMES);
      open = connection;
      try {
        await connection.open();
        before++;
        return connection;
      } catch (error) {
        close();
        if (before === 0 || tries === REOPEN_TRIES) throw error;
        await tools.sleep(REOPEN_PAUSE_MS, signal);
      }
    }
  };
  /** Connects where there is no connection. A failure ends it; the next use makes a new one. */
  const use = async <T>(act: (connection: ToolConnection) => Promise<T>): Promise<T> => {
    signal.throwIfAborted();
    signal.addEventListener("abort", close, { once: true });
    try {
      return await act(open ?? (await connect()));
    } catch (error) {
      close();
      signal.throwIfAborted();
      throw error;
    } finally {
      signal.removeEventListener("abort", close);
    }
  };
  /** Connects where there is no connection; false: none can be had. */
  const connects = (): Promise<boolean> =>
    use(() => Promise.resolve(true)).catch((error: unknown) => {
      if (error instanceof LinkError) return false;
      throw error;
    });
  return { close, use, connects };
}

/** One after the other, none ended before the last: those that connect AND answer count, since a PLC may take and drop. */
async function countConnections(device: Device, unit: number, ask: Ask) {
  const { tools, signal } = ask;
  ask.progress("how many connections it takes");
  const open: ToolConnection[] = [];
  const closeAll = (): void => {
    for (const connection of open) connection.close();
  };
  signal.addEventListener("abort", closeAll, { once: true });
  let answered = 0;
  try {
    await tools.sleep(REOPEN_PAUSE_MS, signal);
    while (answered === open.length && open.length < MOST_CONNECTIONS) {
      const connection = tools.connect(device, TIMES);
      open.push(connection);
      answered += await connection
        .open()
        .then(() => connection.registers(unit, BLOCK))
        .then(
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
