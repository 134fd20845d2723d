import { readCertificates } from "../credential-files.ts";
import type { Text } from "../domain/message.ts";
import { errorText } from "../domain/messages/message-error.ts";
import { render, rendered } from "../domain/messages/render.ts";
import type { UsableConfig } from "../config/usable.ts";
import type { AgentStatus } from "../domain/status.ts";
import type { StoreFiles } from "../store/port.ts";
import { agentOf, configPath } from "../tools/agent-client.ts";
import { CommandError, EXIT, type Call, type Io, type Run } from "../tools/command.ts";
import { agentFindings, noAgentFinding } from "../tools/doctor/agent.ts";
import {
  examineConfig,
  examineDisk,
  examineFiles,
  examineStore,
  examineUnit,
  examineVersions,
} from "../tools/doctor/box.ts";
import { bad, type Examination, examinationOf, type Finding, type FindingState } from "../tools/doctor/finding.ts";
import { examinePlc, reach, serverFindings, type Target, targetOf } from "../tools/doctor/network.ts";
import type { PlcTools } from "../acquisition/port.ts";
import { print } from "../tools/print.ts";
import { barText, linesText, PLAIN, type Style, styleOf } from "../tools/texts.ts";

export interface DoctorParts {
  readonly tools: PlcTools;
  readonly files: StoreFiles;
  /** The version of the installed program. */
  readonly version: string;
}

/** Runs `booth-gateway doctor`: shows the result of every check, and advice. */
export function doctorCommand(parts: DoctorParts): Run {
  return async (call) => {
    const examination = await examine(call, parts);
    print(call, rendered(examination), () => examinationText(examination, styleOf(call.io)));
    return examination.ok ? EXIT.ok : EXIT.failed;
  };
}

/** Runs all checks. A check on which other checks depend comes first. */
export async function examine({ values, io }: Pick<Call, "values" | "io">, parts: DoctorParts): Promise<Examination> {
  const path = configPath(values);
  const { findings, usable } = examineConfig(path);
  const agent = await askStatus({ values, io });
  const progress = (done: number, of: number): void => io.progress(of === 0 ? "" : `${barText(done / of)}  store`);
  const local: Finding[] = [];
  if (usable !== null) {
    local.push(...examineFiles(path, usable.config), ...examineDisk(usable.config));
    local.push(examineStore(parts.files, usable.config.data_dir, progress));
  }
  const running = "trouble" in agent ? null : agent;
  const unit = await examineUnit();
  const answered = "trouble" in agent ? [noAgentFinding(agent.trouble)] : agentFindings(agent);
  const network = usable === null ? [] : await examineNetwork(usable, { running, parts, io });
  io.progress("");
  const versions = examineVersions({ installed: parts.version, running: running?.agent_version ?? null });
  return examinationOf([...findings, ...local, ...unit, ...answered, ...network, versions]);
}

async function askStatus(call: Pick<Call, "values" | "io">): Promise<AgentStatus | { readonly trouble: Text }> {
  try {
    return await (await agentOf(call)).status();
  } catch (error) {
    if (error instanceof CommandError) return { trouble: error.text };
    return { trouble: "the path of the agent's socket is unknown, because the configuration cannot be read" };
  }
}

/** Checks the service, the broker if its address is known, and the PLCs unless the agent holds their connections. */
async function examineNetwork(
  { config, booths }: UsableConfig,
  { running, parts, io }: { readonly running: AgentStatus | null; readonly parts: DoctorParts; readonly io: Io },
): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for (const booth of running === null ? booths : []) {
    io.progress(`PLC of ${booth.config.id} ...`);
    findings.push(await examinePlc(booth, parts.tools));
  }
  const { url, ca_file, mqtt_url, proxy_url } = config.service;
  const ca = authorities(ca_file);
  if (typeof ca === "object") findings.push(ca);
  const broker = running?.service.broker_url ?? mqtt_url ?? null;
  const to = (at: string): Target => targetOf(at, typeof ca === "string" ? ca : undefined);
  const servers: [what: string, target: Target][] = [];
  if (url !== undefined)
    servers.push(["service", { ...to(url), proxy: proxy_url === undefined ? undefined : to(proxy_url) }]);
  if (broker !== null) servers.push(["broker", to(broker)]);
  for (const [what, target] of servers) {
    io.progress(`${what} ...`);
    const reached = await reach(target);
    const clock = { now: Date.now(), checks_clock: config.clock_file === undefined };
    findings.push(...serverFindings(what, { target, reached }, clock));
  }
  return findings;
}

/** Returns the text of a certificate file, or the finding that the file can't be read. */
function authorities(file: string | undefined): string | Finding | undefined {
  if (file === undefined) return undefined;
  try {
    return readCertificates(file);
  } catch (error) {
    return bad("authorities", errorText(error), `correct ${file}, or service.ca_file in the configuration`);
  }
}

/** Shows each finding on its own line, then the advice. */
export function examinationText({ findings, todo }: Examination, style: Style = PLAIN): string {
  const width = Math.max(...findings.map(({ what }) => what.length)) + 2;
  const marks: Readonly<Record<FindingState, string>> = {
    ok: style.good("ok    "),
    warn: style.warn("look  "),
    bad: style.bad("BAD   "),
    skipped: "-     ",
  };
  return linesText([
    ...findings.map(({ what, state, text }) => `${marks[state]}${what.padEnd(width)}${render(text)}`),
    "",
    todo.length === 0 ? "Nothing to do." : "What to do, in this order:",
    ...todo.map((text, i) => `${String(i + 1).padStart(3)}. ${render(text)}`),
  ]);
}
