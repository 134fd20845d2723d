import { closeSync, openSync, writeSync } from "node:fs";
import { LinkError } from "../domain/link-error.ts";
import { render } from "../domain/messages/render.ts";
import { plcAddress } from "../domain/plc-address.ts";
import type { ModbusProfile } from "../domain/profile.ts";
import type { ModbusConfig } from "../config/port.ts";
import { TRACE_VERSION, type TraceHeader, type TraceLine } from "../domain/trace.ts";
import type { Milliseconds } from "../domain/units.ts";
import { CommandError, EXIT, type Io, type Run } from "../tools/command.ts";
import { lengthOption, textOption } from "../tools/options.ts";
import type { PlcTools } from "../acquisition/port.ts";
import { chosenBooth, polledGroups, unreachable, type ChosenBooth } from "../tools/plc-tools.ts";
import { print } from "../tools/print.ts";
import { RECORD_FOR } from "../tools/rules/usual.ts";
import { recordSession, type RecordedCounts } from "../tools/record-session.ts";
import { barText } from "../tools/texts.ts";

const LONGEST_H = 24;
const TIMES = { connect_ms: 2500, answer_ms: 1000 } as const;
/** The pause before a new connection, because a small PLC frees a closed connection late. */
const REOPEN_PAUSE_MS = 300;

/** Runs `booth-gateway record`: records a session with the PLC into a file that `booth-sim replay` can play. */
export function recordCommand(tools: PlcTools): Run {
  return async (call) => {
    const { values, io } = call;
    const for_ms = lengthOption({ for: RECORD_FOR, ...values }, "for", LONGEST_H) ?? 0;
    const out = textOption(values, "out");
    if (out === undefined) throw new CommandError("name the file with --out", EXIT.usage);
    const chosen = modbusBooth(chosenBooth(values));
    const counts = await record(chosen, { out, for_ms }, { tools, io });
    if (counts.answers === 0 && counts.trouble !== null) {
      throw unreachable(counts.trouble, plcAddress(chosen.booth));
    }
    const { answers, silences, failures } = counts;
    print(call, { file: out, answers, silences, failures }, () => `${out}: ${countsText(counts)}\n`);
    return EXIT.ok;
  };
}

interface ModbusBooth extends ChosenBooth {
  readonly modbus: ModbusConfig;
  readonly profile: ModbusProfile;
}

function modbusBooth(chosen: ChosenBooth): ModbusBooth {
  const { booth, profile } = chosen;
  if (booth.modbus !== undefined && profile.protocol === "modbus") return { ...chosen, modbus: booth.modbus, profile };
  throw new CommandError(`${booth.id} is read over ${profile.protocol}; only Modbus can be recorded`, EXIT.usage);
}

async function record(
  chosen: ModbusBooth,
  wanted: { readonly out: string; readonly for_ms: Milliseconds },
  { tools, io }: { readonly tools: PlcTools; readonly io: Io },
): Promise<RecordedCounts> {
  const { booth, profile, config } = chosen;
  const file = newFile(wanted.out);
  const write = (line: TraceLine): void => void writeSync(file, `${JSON.stringify(line)}\n`);
  try {
    write(await headerOf(chosen, { tools, io }));
    return await recordSession(
      {
        groups: Object.fromEntries(polledGroups(chosen)),
        for_ms: wanted.for_ms,
        driver: (tap) => tools.driver(booth, profile, { config, tap }),
        write,
        mono: () => tools.mono(),
        sleep: (ms, signal) => tools.sleep(ms, signal),
        progress: (share) => io.progress(barText(share)),
      },
      io.signal,
    );
  } finally {
    io.progress("");
    closeSync(file);
  }
}

async function headerOf(
  { modbus, profile }: ModbusBooth,
  { tools, io }: { readonly tools: PlcTools; readonly io: Io },
): Promise<TraceHeader> {
  const unit = modbus.unit_id ?? profile.quirks.unit_id;
  const connection = tools.connect(modbus, TIMES);
  const identification = await connection
    .open()
    .then(() => connection.identify(unit))
    .then((objects) => objects?.map(({ id, text }) => ({ id, text: render(text) })) ?? null)
    .catch((error: unknown) => {
      // Records no identification if the device has none or doesn't answer. The recording itself shows a silent device.
      if (error instanceof LinkError) return null;
      throw error;
    })
    .finally(() => connection.close());
  await tools.sleep(REOPEN_PAUSE_MS, io.signal);
  return {
    kind: "header",
    format: "booth-plc-trace",
    version: TRACE_VERSION,
    started_at: Date.now(),
    profile: profile.name,
    profile_version: profile.version,
    unit,
    identification,
  };
}

function newFile(path: string): number {
  try {
    return openSync(path, "wx", 0o640);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
    const why = code === "EEXIST" ? "there is such a file already; name another one" : code;
    throw new CommandError(`${path} can't be written: ${why}`, EXIT.usage, error);
  }
}

function countsText({ answers, silences, failures, trouble }: RecordedCounts): string {
  const last = trouble === null ? "" : `, the last: ${trouble.message}`;
  return `${answers} answers, ${silences} requests without one, ${failures} failures of the connection${last}`;
}
