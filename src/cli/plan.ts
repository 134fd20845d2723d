import { plcAddress } from "../domain/plc-address.ts";
import { byteTime, summarizeGroup, type GroupSummary } from "../tools/rules/plan-summary.ts";
import { type ModbusProfile, type OpcuaProfile, tagsOfGroup } from "../domain/profile.ts";
import { CommandError, EXIT, type Io, type Run } from "../tools/command.ts";
import type { PlcTools } from "../acquisition/port.ts";
import { chosenBooths, numberOption, polledGroups, unreachable, type ChosenBooth } from "../tools/plc-tools.ts";
import { print, tableText } from "../tools/print.ts";
import { ASSUMED_ROUND_TRIP_MS } from "../tools/rules/usual.ts";
import { durationText, linesText } from "../tools/texts.ts";

/** The number of reads of a group, whose median is the result. */
const MEASURED_READS = 5;

/** Runs `booth-gateway plan`: shows the requests to each PLC. */
export function planCommand(tools: PlcTools): Run {
  return async (call) => {
    const { values, io } = call;
    const round_trip_ms = numberOption(values, "round-trip", { min: 0, max: 60_000 });
    const plans = chosenBooths(values).map((chosen) => planOf(chosen, tools, round_trip_ms));
    const measured = values["measure"] === true ? await measureAll(plans, tools, io) : new Map<string, number>();
    const whole = plans.map((plan) => plan.render((group) => measured.get(`${plan.chosen.booth.id} ${group}`) ?? null));
    print(call, { booths: whole.map(({ json }) => json) }, () => whole.map(({ text }) => text).join("\n"));
    return EXIT.ok;
  };
}

/** Returns the time of a group's poll; null if it was not measured. */
type Measured = (group: string) => number | null;

interface BoothPlan {
  readonly chosen: ChosenBooth;
  readonly render: (measured: Measured) => { readonly text: string; readonly json: unknown };
}

function planOf(chosen: ChosenBooth, tools: PlcTools, round_trip_ms: number | undefined): BoothPlan {
  const { booth, profile } = chosen;
  const plc = plcAddress(booth);
  const head = `${booth.id}: ${profile.name} ${profile.version}, PLC at ${plc}\n`;
  const base = { booth: booth.id, profile: profile.name, plc };
  if (booth.opcua !== undefined && profile.protocol === "opcua") {
    const render = (measured: Measured) => {
      const groups = polledGroups(chosen).map(([group]) => ({
        group,
        line: opcuaLine(profile, group, measured(group)),
      }));
      return { text: `${head}${linesText(groups.map(({ line }) => line))}`, json: { ...base, groups } };
    };
    return { chosen, render };
  }
  if (booth.modbus === undefined || profile.protocol !== "modbus") {
    const message = `${booth.id}: the profile ${profile.name} is for ${profile.protocol}, its link isn't`;
    throw new CommandError(message, EXIT.config);
  }
  const { round_trip_registers, silence_ms } = tools.lineCost(booth.modbus);
  const cost = {
    round_trip_registers,
    round_trip_ms: round_trip_ms ?? ASSUMED_ROUND_TRIP_MS,
    rest_ms: silence_ms,
    byte_ms: byteTime(booth.modbus),
  };
  const summaries = polledGroups(chosen).map(([group]) => summarizeGroup(profile, group, cost));
  const assumption = round_trip_ms === undefined ? "assumed; --round-trip or --measure for better" : "as given";
  const render = (measured: Measured) => ({
    text: [
      `${head}${cost.round_trip_ms} ms per request (${assumption})\n`,
      ...summaries.map((summary) => groupText(summary, profile, measured(summary.group))),
    ].join(""),
    json: {
      ...base,
      round_trip_ms: cost.round_trip_ms,
      round_trip_assumed: round_trip_ms === undefined,
      holes: profile.quirks.holes,
      groups: summaries.map((summary) => ({ ...summary, measured_ms: measured(summary.group) })),
    },
  });
  return { chosen, render };
}

/** Measures the median time of a poll for each booth and group. */
async function measureAll(plans: readonly BoothPlan[], tools: PlcTools, io: Io): Promise<Map<string, number>> {
  const measured = new Map<string, number>();
  for (const { chosen } of plans) {
    const { booth, profile, config } = chosen;
    const driver = tools.driver(booth, profile, { config });
    try {
      await driver.open(io.signal);
      for (const [group] of polledGroups(chosen)) {
        // Reads once without measuring, because the first read finds holes (addresses that the PLC refuses) and takes longer.
        await driver.read([group]);
        const times: number[] = [];
        for (let i = 0; i < MEASURED_READS; i++) {
          const start = tools.mono();
          await driver.read([group]);
          times.push(tools.mono() - start);
        }
        measured.set(`${booth.id} ${group}`, times.toSorted((a, b) => a - b)[MEASURED_READS >> 1] ?? 0);
      }
    } catch (error) {
      throw io.signal.aborted ? io.signal.reason : unreachable(error, plcAddress(booth));
    } finally {
      await driver.close();
    }
  }
  return measured;
}

/** Describes the requests of an OPC UA group. A read has a limited number of variables, and their order doesn't matter. */
function opcuaLine(profile: OpcuaProfile, group: string, measured: number | null): string {
  const tags = tagsOfGroup(profile, group).length;
  const requests = Math.ceil(tags / profile.quirks.max_nodes_per_read);
  const every = durationText(profile.groups[group]?.poll_interval_ms ?? 0);
  return `  ${group}, every ${every}: ${tags} variables in ${requests} requests${tookText(measured)}`;
}

function groupText(summary: GroupSummary, profile: ModbusProfile, measured: number | null): string {
  const { requests, read, used, tags } = summary;
  const head = `\n${summary.group}, every ${durationText(summary.poll_interval_ms)}: ${tags} tags in ${requests.length} requests, ${read} read, ${used} used, about ${rounded(summary.expected_ms)} ms${tookText(measured)}\n`;
  const rows = requests.map((one) => [one.table, one.address, one.count, one.used, rounded(one.expected_ms)]);
  const tables = new Set(requests.map(({ table }) => table));
  const holes = [...tables].flatMap((table) => {
    const ranges = profile.quirks.holes[table] ?? [];
    return ranges.length === 0 ? [] : [`  ${table} ${ranges.map(([first, last]) => `${first}-${last}`).join(", ")}`];
  });
  const known = holes.length === 0 ? "holes known: none\n" : `holes known (0-based):\n${holes.join("\n")}\n`;
  return `${head}${tableText(["table", "address", "count", "used", "ms"], rows)}${known}`;
}

function tookText(measured: number | null): string {
  return measured === null ? "" : `, ${rounded(measured)} ms measured`;
}

function rounded(ms: number): number {
  return Math.round(ms * 10) / 10;
}
