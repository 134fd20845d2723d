import { readFileSync } from "node:fs";
import type { LinkSharer } from "../domain/agent-control.ts";
import type { Call, Run } from "../tools/command.ts";
import { dispatch } from "../cli/dispatch.ts";
import type { DoctorParts } from "../cli/doctor.ts";
import type { PlcTools } from "../acquisition/port.ts";
import type { Program } from "../cli/parse.ts";
import { GROUPS, type CommandName } from "../cli/table/all.ts";
import type { StoreFiles } from "../store/port.ts";
import { terminalIo } from "../cli/terminal.ts";

/** Runs the command line and sets the process's exit code. Never rejects. */
export async function main(argv: readonly string[]): Promise<void> {
  process.exitCode = await dispatch({ ...PROGRAM, version: version() }, argv, terminalIo());
}

function version(): string {
  const file = new URL("../../package.json", import.meta.url);
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}

/** Loaders for the code of each command. A command loads only what it needs, which keeps `status` fast on a small machine. */
const RUNS: Readonly<Record<CommandName, () => Promise<Run>>> = {
  run: async () => (await import("./compose.ts")).runCommand,
  reload: async () => (await import("../cli/upkeep.ts")).reloadCommand,
  status: async () => (await import("../cli/status.ts")).statusCommand,
  backlog: async () => (await import("../cli/backlog.ts")).backlogCommand,
  page: async () => (await import("../cli/upkeep.ts")).pageCommand,
  label: async () => (await import("../cli/label.ts")).labelCommand,
  provision: async () => (await import("../cli/provision.ts")).provisionCommand,
  setup: async () => (await import("../cli/setup.ts")).setupCommand,
  release: async () => (await import("../cli/provision.ts")).releaseCommand,
  decommission: async () => (await import("../cli/provision.ts")).decommissionCommand,
  durations: async () => (await import("../cli/history.ts")).durationsCommand,
  history: async () => (await import("../cli/history.ts")).historyCommand,
  filters: async () => (await import("../cli/filters.ts")).filtersCommand,
  records: async () => (await import("../cli/records.ts")).recordsCommand,
  explain: async () => (await import("../cli/explain.ts")).explainCommand,
  reconcile: async () => (await import("../cli/upkeep.ts")).reconcileCommand,
  rebuild: async () => (await import("../cli/upkeep.ts")).rebuildCommand,
  probe: async () => sharing((await import("../tools/probe.ts")).probeCommand),
  detect: async () => sharing((await import("../tools/detect.ts")).detectCommand),
  plan: async () => sharing((await import("../cli/plan.ts")).planCommand, ({ values }) => values["measure"] === true),
  tags: async () => sharing((await import("../cli/tags.ts")).tagsCommand),
  record: async () => sharing((await import("../cli/record.ts")).recordCommand),
  profile: async () => sharing((await import("../tools/profile/profile.ts")).profileCommand, readsPlc),
  check: async () => (await import("../cli/check.ts")).checkCommand,
  config: async () => (await import("../cli/config.ts")).configCommand,
  notify: async () => (await import("../cli/upkeep.ts")).notifyCommand,
  doctor: async () => (await import("../cli/doctor.ts")).doctorCommand(await doctorParts()),
  "support-bundle": async () => (await import("../cli/support-bundle.ts")).supportBundleCommand(await doctorParts()),
  store: async () => (await import("../cli/store.ts")).storeCommand(await storeTools()),
  schemas: async () => (await import("../cli/check.ts")).schemasCommand,
  completion: async () => (await import("../cli/completion.ts")).completionCommand(PROGRAM),
  manual: async () => (await import("../cli/manual.ts")).manualCommand(PROGRAM),
};

/** The command-line program. Its version is missing here, because package.json holds it. */
export const PROGRAM: Omit<Program, "version"> = {
  name: "booth-gateway",
  summary: "edge gateway agent for paint and spray booths",
  groups: GROUPS,
  // This cast is safe, because the compiler checks that `GROUPS` and `RUNS` have the same names.
  runOf: (name) => RUNS[name as CommandName](),
};

async function storeTools(): Promise<StoreFiles> {
  const { storeFiles } = await import("../store/files.ts");
  return storeFiles(() => Date.now());
}

async function doctorParts(): Promise<DoctorParts> {
  return { tools: await plcTools(), files: await storeTools(), version: version() };
}

/** Returns whether an action of the profile workshop reads the PLC. */
function readsPlc({ operands, values }: Call): boolean {
  return !["new", "import", "export"].includes(operands[0] ?? "") && values["trace"] === undefined;
}

/** Wraps a command so that it reads the PLC over the running agent's link if there is one. */
function sharing(command: (tools: PlcTools) => Run, touchesPlc: (call: Call) => boolean = () => true): Run {
  return async (call) => {
    const { linksToShare } = await import("../tools/plc-tools.ts");
    const sharer = touchesPlc(call) ? await linksToShare(call.values, call.io) : undefined;
    return command(await plcTools(sharer))(call);
  };
}

async function plcTools(sharer?: LinkSharer): Promise<PlcTools> {
  const [{ driverTools }, { createLogger, STDERR }] = await Promise.all([
    import("../acquisition/tool-drivers.ts"),
    import("./logger.ts"),
  ]);
  return driverTools({ wall: () => Date.now(), log: createLogger("error", STDERR), sharer });
}
