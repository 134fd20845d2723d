import { plcAddress } from "../domain/plc-address.ts";
import { byteTime, summariseGroup, type GroupSummary, type LinkCost } from "../tools/rules/plan-summary.ts";
import { type ModbusProfile, type Profile, tagsOfGroup } from "../domain/profile.ts";
import { CommandError, EXIT, type Io, type Run } from "./command.ts";
import { chosenBooths, numberOption, unreachable, type ChosenBooth, type PlcTools } from "../tools/plc-tools.ts";
import { print } from "./print.ts";
import { tableText } from "./report-options.ts";
import { ASSUMED_ROUND_TRIP_MS } from "./table/plc.ts";
import { lasting } from "./text.ts";

/** Reads of a group whose median is taken. */
const MEASURED_READS = 5;

/** `booth-gateway plan`: what the agent will ask each PLC for. */
export function planCommand(tools: PlcTools): Run {
  return async ({ values, io }) => {
    const round_trip_ms = numberOption(values, "round-trip", { min: 0, max: 60_000 });
    const plans = chosenBooths(values).map((chosen) => planOf(chosen, tools, round_trip_ms));
    const measured = values["measure"] === true ? await measureAll(plans, tools, io) : new Map<string, number>();
    const whole = plans.map((plan) => withMeasured(plan, measured));
    const text = (): string => whole.map((one) => one.text).join("\n");
    print({ values, io }, { booths: whole.map(({ json }) => json) }, text);
    return EXIT.ok;
  };
}

interface BoothPlan {
  readonly chosen: ChosenBooth;
  readonly cost: LinkCost | null;
  readonly isAssumed: boolean;
  readonly groups: readonly string[];
  readonly summaries: readonly GroupSummary[];
}

function planOf(chosen: ChosenBooth, tools: PlcTools, round_trip_ms: number | undefined): BoothPlan {
  const { booth, profile } = chosen;
  const groups = Object.keys(profile.groups).filter(
    (group) => tagsOfGroup<Profile["tags"][number]>(profile, group).length > 0,
  );
  const isAssumed = round_trip_ms === undefined;
  if ((booth.modbus === undefined) !== (profile.protocol === "opcua")) {
    throw new CommandError(
      `${booth.id}: the profile ${profile.name} is for ${profile.protocol}, its link isn't`,
      EXIT.config,
    );
  }
  if (booth.modbus === undefined || profile.protocol !== "modbus") {
    return { chosen, cost: null, isAssumed, groups, summaries: [] };
  }
  const { round_trip_registers, silence_ms } = tools.lineCost(booth.modbus);
  const cost: LinkCost = {
    round_trip_registers,
    round_trip_ms: round_trip_ms ?? ASSUMED_ROUND_TRIP_MS,
    rest_ms: silence_ms,
    byte_ms: byteTime(booth.modbus),
  };
  const summaries = groups.map((group) => ({
    ...summariseGroup(profile, group, cost),
    poll_interval_ms: intervalOf(chosen, group),
  }));
  return { chosen, cost, isAssumed, groups, summaries };
}

function intervalOf({ booth, profile }: ChosenBooth, group: string): number {
  return booth.poll[group]?.poll_interval_ms ?? profile.groups[group]?.poll_interval_ms ?? 0;
}

/** Median time of a poll, by booth and group. */
async function measureAll(plans: readonly BoothPlan[], tools: PlcTools, io: Io): Promise<Map<string, number>> {
  const measured = new Map<string, number>();
  for (const { chosen, groups } of plans) {
    const { booth, profile, config } = chosen;
    const driver = tools.driver(booth, profile, { config });
    try {
      await driver.open(io.signal);
      for (const group of groups) {
        // The first read finds holes; it isn't what a poll costs later.
        await driver.read(group, io.signal);
        const times: number[] = [];
        for (let i = 0; i < MEASURED_READS; i++) {
          const start = tools.mono();
          await driver.read(group, io.signal);
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

function withMeasured(plan: BoothPlan, measured: ReadonlyMap<string, number>): { text: string; json: unknown } {
  const { booth, profile } = plan.chosen;
  const of = (group: string): number | null => measured.get(`${booth.id} ${group}`) ?? null;
  const head = `${booth.id}: ${profile.name} ${profile.version}, PLC at ${plcAddress(booth)}`;
  const base = { booth: booth.id, profile: profile.name, plc: plcAddress(booth) };
  if (plan.cost === null || profile.protocol !== "modbus") {
    const groups = plan.groups.map((group) => opcuaGroup(plan.chosen, group, of(group)));
    return { text: `${[head, ...groups.map(({ line }) => line)].join("\n")}\n`, json: { ...base, groups } };
  }
  const assumption = plan.isAssumed ? "assumed; --round-trip or --measure for better" : "as given";
  return {
    text: [
      `${head}\n${plan.cost.round_trip_ms} ms per request (${assumption})\n`,
      ...plan.summaries.map((summary) => groupText(summary, profile, of(summary.group))),
    ].join(""),
    json: {
      ...base,
      round_trip_ms: plan.cost.round_trip_ms,
      round_trip_assumed: plan.isAssumed,
      holes: profile.quirks.holes,
      groups: plan.summaries.map((summary) => ({ ...summary, measured_ms: of(summary.group) })),
    },
  };
}

/** Variables go in reads of a bounded number; which stand together doesn't matter to a server. */
function opcuaGroup(chosen: ChosenBooth, group: string, measured: number | null): { group: string; line: string } {
  const { profile } = chosen;
  const tags = tagsOfGroup<Profile["tags"][number]>(profile, group).length;
  const most = profile.protocol === "opcua" ? profile.quirks.max_nodes_per_read : 1;
  const took = measured === null ? "" : `, ${rounded(measured)} ms measured`;
  const every = lasting(intervalOf(chosen, group));
  return { group, line: `  ${group}, every ${every}: ${tags} variables in ${Math.ceil(tags / most)} requests${took}` };
}

function groupText(summary: GroupSummary, profile: ModbusProfile, measured: number | null): string {
  const { requests, read, used, tags } = summary;
  const took = measured === null ? "" : `, ${rounded(measured)} ms measured`;
  const head = `\n${summary.group}, every ${lasting(summary.poll_interval_ms)}: ${tags} tags in ${requests.length} requests, ${read} read, ${used} used, about ${rounded(summary.expected_ms)} ms${took}\n`;
  const rows = requests.map((one) => [one.table, one.address, one.count, one.used, rounded(one.expected_ms)]);
  const tables = new Set(requests.map(({ table }) => table));
  const holes = [...tables].flatMap((table) => {
    const ranges = profile.quirks.holes[table] ?? [];
    return ranges.length === 0 ? [] : [`  ${table} ${ranges.map(([first, last]) => `${first}-${last}`).join(", ")}`];
  });
  const known = holes.length === 0 ? "holes known: none\n" : `holes known (0-based):\n${holes.join("\n")}\n`;
  return `${head}${tableText(["table", "address", "count", "used", "ms"], rows)}${known}`;
}

function rounded(ms: number): number {
  return Math.round(ms * 10) / 10;
}
