import { render } from "../domain/messages/render.ts";
import { adviceFor, LinkError } from "../domain/link-error.ts";
import { plcAddress } from "../domain/plc-address.ts";
import { isBitTable, type ModbusPoint, pointWidth, type ProfileTag } from "../domain/profile.ts";
import type { Driver, PlcTools, WireExchange } from "../acquisition/port.ts";
import type { Sample } from "../domain/taken.ts";
import type { Run } from "../tools/command.ts";
import { chosenBooth, polledGroups, unreachable, type ChosenBooth } from "../tools/plc-tools.ts";
import { show, tableText } from "../tools/print.ts";
import { durationText } from "../tools/texts.ts";

/** Runs `booth-gateway tags`: reads every tag from the PLC. */
export function tagsCommand(tools: PlcTools): Run {
  return async (call) => {
    const { values, io } = call;
    const chosen = chosenBooth(values);
    const { booth, profile } = chosen;
    const plc = plcAddress(booth);
    const named = `${profile.name} ${profile.version}`;
    const watch = tagWatch(chosen, tools);
    try {
      return await show(call, async () => {
        const trouble = await watch.read(io.signal).then(
          () => "",
          (error: unknown) => {
            if (io.signal.aborted) throw io.signal.reason;
            if (values["watch"] === true && error instanceof LinkError)
              return `DOWN: ${error.message}; ${render(adviceFor(error, plc))}\n`;
            throw unreachable(error, plc);
          },
        );
        const tags = profile.tags.map(watch.rowOf);
        const text = `${booth.id}: ${named}, PLC at ${plc}\n${rowsText(tags)}${trouble}`;
        return { answer: { booth: booth.id, profile: named, plc, tags }, text };
      });
    } finally {
      await watch.close();
    }
  };
}

/** A tag's row in the table. */
interface TagRow {
  readonly tag: string;
  /** The registers in hexadecimal, or the bits; "" if the driver doesn't show them. */
  readonly raw: string;
  readonly value: Sample["value"];
  readonly unit: string;
  readonly quality: string;
  readonly age_ms: number | null;
}

function tagWatch(chosen: ChosenBooth, tools: PlcTools) {
  const { booth, profile, config } = chosen;
  const registers = new Map<string, number>();
  const samples = new Map<string, { readonly sample: Sample; readonly at: number }>();
  const readAt = new Map<string, number>();
  let driver: Driver | null = null;
  const onExchange = ({ table, address, words }: WireExchange): void => {
    for (const [i, word] of (words ?? []).entries()) registers.set(`${table} ${address + i}`, word);
  };
  const close = async (): Promise<void> => {
    await driver?.close();
    driver = null;
  };
  const readDue = async (signal: AbortSignal): Promise<void> => {
    if (driver === null) {
      driver = tools.driver(booth, profile, { config, onExchange });
      await driver.open(signal);
    }
    const isDue = ([group, { poll_interval_ms }]: ReturnType<typeof polledGroups>[number]): boolean =>
      tools.mono() - (readAt.get(group) ?? -Infinity) >= poll_interval_ms;
    const due = polledGroups(chosen).filter(isDue);
    if (due.length === 0) return;
    const read = await driver.read(due.map(([group]) => group));
    const at = tools.mono();
    for (const [group, came] of read) {
      readAt.set(group, at);
      for (const sample of came) samples.set(sample.tag, { sample, at });
    }
  };
  return {
    close,
    /** Reads the groups that are due. Closes the connection and rejects after a LinkError; the next read connects again. */
    read: (signal: AbortSignal): Promise<void> =>
      readDue(signal).catch(async (error: unknown) => {
        await close();
        throw error;
      }),
    rowOf: ({ name, point, unit }: ProfileTag): TagRow => {
      const known = samples.get(name);
      const raw = "table" in point ? rawText(point, registers) : "";
      if (known === undefined) return { tag: name, raw, unit, value: null, quality: "not read yet", age_ms: null };
      const { value, quality, reason } = known.sample;
      const why = reason === undefined ? quality : `${quality}: ${reason}`;
      return { tag: name, raw, unit, value, quality: why, age_ms: Math.round(tools.mono() - known.at) };
    },
  };
}

function rawText(point: ModbusPoint, registers: ReadonlyMap<string, number>): string {
  const words = Array.from({ length: pointWidth(point) }, (_, i) =>
    registers.get(`${point.table} ${point.address + i}`),
  );
  if (words.includes(undefined)) return "";
  const isBits = isBitTable(point.table);
  return words.map((word = 0) => (isBits ? String(word) : word.toString(16).padStart(4, "0"))).join(" ");
}

function rowsText(rows: readonly TagRow[]): string {
  return tableText(
    ["tag", "raw", "value", "unit", "quality", "age"],
    rows.map(({ tag, raw, value, unit, quality, age_ms }) => [
      tag,
      raw === "" ? "-" : raw,
      value === null ? "-" : String(value),
      unit,
      quality,
      age_ms === null ? "-" : durationText(age_ms),
    ]),
  );
}
