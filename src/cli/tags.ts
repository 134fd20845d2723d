import { adviceFor, LinkError } from "../domain/link-error.ts";
import { plcAddress } from "../domain/plc-address.ts";
import { isBitTable, type ModbusPoint, pointWidth, type ProfileTag, tagsOfGroup } from "../domain/profile.ts";
import type { Driver, WireExchange } from "../acquisition/port.ts";
import type { Sample } from "../domain/sample.ts";
import type { Io, Run } from "./command.ts";
import { chosenBooth, unreachable, type ChosenBooth, type PlcTools } from "../tools/plc-tools.ts";
import { tableText } from "./report-options.ts";
import { show } from "./show.ts";
import { lasting } from "./text.ts";

/** `booth-gateway tags`: what the PLC says now, tag by tag. */
export function tagsCommand(tools: PlcTools): Run {
  return async ({ values, io }) => {
    const chosen = chosenBooth(values);
    const watch = tagWatch(chosen, tools);
    try {
      const isLive = values["watch"] === true;
      return await show({ values, io }, async () => {
        const trouble = await watch.read(io).then(
          () => "",
          (error: unknown) => {
            if (io.signal.aborted) throw io.signal.reason;
            if (isLive && error instanceof LinkError) return `DOWN: ${error.message}; ${adviceFor(error.kind)}\n`;
            throw unreachable(error, plcAddress(chosen.booth));
          },
        );
        const rows = watch.rows();
        return { answer: jsonOf(chosen, rows), text: `${watch.text(rows)}${trouble}` };
      });
    } finally {
      await watch.close();
    }
  };
}

/** One tag as it is shown. */
interface TagRow {
  readonly tag: string;
  /** Hex, or bits; "" where the driver doesn't tell. */
  readonly raw: string;
  readonly value: Sample["value"];
  readonly unit: string;
  readonly quality: string;
  readonly age_ms: number | null;
}

interface TagWatch {
  /** Reads the groups that are due. Rejects with the LinkError; the next read connects anew. */
  read(io: Io): Promise<void>;
  rows(): readonly TagRow[];
  text(rows: readonly TagRow[]): string;
  close(): Promise<void>;
}

function tagWatch(chosen: ChosenBooth, tools: PlcTools): TagWatch {
  const { booth, profile, config } = chosen;
  const registers = new Map<string, number>();
  const samples = new Map<string, { readonly sample: Sample; readonly at: number }>();
  const readAt = new Map<string, number>();
  let driver: Driver | null = null;
  const onExchange = ({ table, address, words }: WireExchange): void => {
    for (const [i, word] of (words ?? []).entries()) registers.set(`${table} ${address + i}`, word);
  };
  const intervalOf = (group: string): number =>
    booth.poll[group]?.poll_interval_ms ?? profile.groups[group]?.poll_interval_ms ?? 0;
  const close = async (): Promise<void> => {
    await driver?.close();
    driver = null;
  };
  const readDue = async (signal: AbortSignal): Promise<void> => {
    if (driver === null) {
      driver = tools.driver(booth, profile, { config, onExchange });
      await driver.open(signal);
    }
    for (const group of Object.keys(profile.groups)) {
      if (tagsOfGroup<ProfileTag>(profile, group).length === 0) continue;
      if (tools.mono() - (readAt.get(group) ?? -Infinity) < intervalOf(group)) continue;
      const read = await driver.read(group, signal);
      const at = tools.mono();
      readAt.set(group, at);
      for (const sample of read) samples.set(sample.tag, { sample, at });
    }
  };
  const rowOf = (tag: ProfileTag): TagRow => {
    const known = samples.get(tag.name);
    const raw = "table" in tag.point ? rawText(tag.point, registers) : "";
    const base = { tag: tag.name, raw, unit: tag.unit };
    if (known === undefined) return { ...base, value: null, quality: "not read yet", age_ms: null };
    const { value, quality, reason } = known.sample;
    const why = reason === undefined ? quality : `${quality}: ${reason}`;
    return { ...base, value, quality: why, age_ms: Math.round(tools.mono() - known.at) };
  };
  return {
    close,
    read: async (io) => {
      try {
        await readDue(io.signal);
      } catch (error) {
        await close();
        throw error;
      }
    },
    rows: () => profile.tags.map(rowOf),
    text: (rows) => `${booth.id}: ${profile.name} ${profile.version}, PLC at ${plcAddress(booth)}\n${rowsText(rows)}`,
  };
}

function rawText(point: ModbusPoint, registers: ReadonlyMap<string, number>): string {
  const words = Array.from({ length: pointWidth(point) }, (_, i) =>
    registers.get(`${point.table} ${point.address + i}`),
  );
  if (words.includes(undefined)) return "";
  return words.map((word = 0) => (isBitTable(point.table) ? String(word) : hex(word))).join(" ");
}

function hex(word: number): string {
  return word.toString(16).padStart(4, "0");
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
      age_ms === null ? "-" : lasting(age_ms),
    ]),
  );
}

function jsonOf({ booth, profile }: ChosenBooth, rows: readonly TagRow[]): unknown {
  return { booth: booth.id, profile: `${profile.name} ${profile.version}`, plc: plcAddress(booth), tags: rows };
}
