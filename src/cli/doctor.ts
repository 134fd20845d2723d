import { readFileSync } from "node:fs";
import type { UsableConfig } from "../config/usable.ts";
import type { Config } from "../config/port.ts";
import type { AgentStatus } from "../domain/status.ts";
import type { StoreFiles } from "../store/port.ts";
import { askAgent, configPath, socketPath } from "../tools/agent-client.ts";
import { CommandError, EXIT, type Call, type Io, type Run } from "./command.ts";
import { agentFindings, noAgentFinding } from "../tools/doctor/agent.ts";
import { examineConfig } from "../tools/doctor/config.ts";
import { examineDisk } from "../tools/doctor/disk.ts";
import { examineFiles } from "../tools/doctor/files.ts";
import { bad, examinationOf, type Examination, type Finding } from "../tools/doctor/finding.ts";
import { examinePlc } from "../tools/doctor/plc.ts";
import { reach, type Target } from "../tools/doctor/reach.ts";
import { serverFindings, targetOf } from "../tools/doctor/service.ts";
import { examineStore } from "../tools/doctor/store.ts";
import { examineUnit, examineVersions } from "../tools/doctor/system.ts";
import { examinationText } from "../tools/doctor/text.ts";
import type { PlcTools } from "../tools/plc-tools.ts";
import { print } from "./print.ts";
import { barText } from "./text.ts";
import { styleOf } from "./style.ts";

export interface DoctorParts {
  readonly tools: PlcTools;
  readonly files: StoreFiles;
  /** Of the program that is installed. */
  readonly version: string;
}

/** `booth-gateway doctor`: every check there is, and what to do. */
export function doctorCommand(parts: DoctorParts): Run {
  return async (call) => {
    const examination = await examine(call, parts);
    print(call, examination, () => examinationText(examination, styleOf(call.io)));
    return examination.ok ? EXIT.ok : EXIT.failed;
  };
}

/** All checks, those first on which others depend. */
export async function examine({ values, io }: Pick<Call, "values" | "io">, parts: DoctorParts): Promise<Examination> {
  const path = configPath(values);
  const { findings, usable } = examineConfig(path);
  const agent = await askStatus({ values, io });
  const local = usable === null ? [] : examineBox(path, usable.config, { parts, io });
  const running = "trouble" in agent ? null : agent;
  const unit = await examineUnit();
  const told = "trouble" in agent ? [noAgentFinding(agent.trouble)] : agentFindings(agent);
  const network = usable === null ? [] : await examineNetwork(usable, { running, parts, io });
  io.progress("");
  const versions = examineVersions({ installed: parts.version, running: running?.agent_version ?? null });
  return examinationOf([...findings, ...local, ...unit, ...told, ...network, versions]);
}

async function askStatus({
  values,
  io,
}: Pick<Call, "values" | "io">): Promise<AgentStatus | { readonly trouble: string }> {
  try {
    // The agent answers its own shape.
    return (await askAgent(await socketPath(values, io), { method: "GET", path: "/status" })) as AgentStatus;
  } catch (error) {
    if (error instanceof CommandError) return { trouble: error.message };
    return { trouble: "nobody knows where its socket is, as long as the configuration can't be read" };
  }
}

interface Around {
  readonly parts: DoctorParts;
  readonly io: Io;
}

function examineBox(path: string, config: Config, { parts, io }: Around): readonly Finding[] {
  const progress = (done: number, of: number): void => io.progress(of === 0 ? "" : `${barText(done / of)}  store`);
  return [...examineFiles(path, config), ...examineDisk(config), examineStore(parts.files, config.data_dir, progress)];
}

/** PLCs where no agent holds their connection, the service, and the broker as far as it is known. */
async function examineNetwork(
  { config, booths }: UsableConfig,
  { running, parts, io }: Around & { readonly running: AgentStatus | null },
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
  const servers: readonly Server[] = [
    { what: "service", url, ...(proxy_url === undefined ? {} : { proxy: proxyOf(proxy_url) }) },
    ...(broker === null ? [] : [{ what: "broker", url: broker }]),
  ];
  for (const server of servers) {
    io.progress(`${server.what} ...`);
    const { proxy } = server;
    const target = {
      ...targetOf(server.url, typeof ca === "string" ? ca : undefined),
      ...(proxy === undefined ? {} : { proxy }),
    };
    const reached = await reach(target);
    const clock = { now: Date.now(), checks_clock: config.clock_file === undefined };
    findings.push(...serverFindings(server.what, { target, reached }, clock));
  }
  return findings;
}

interface Server {
  readonly what: string;
  readonly url: string;
  readonly proxy?: NonNullable<Target["proxy"]>;
}

/** Of http://HOST:PORT. */
function proxyOf(url: string): NonNullable<Target["proxy"]> {
  const { host, port } = targetOf(url, undefined);
  return { host, port };
}

/** The file's text; or what keeps it from being read. */
function authorities(file: string | undefined): string | Finding | undefined {
  if (file === undefined) return undefined;
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    return bad("authorities", said, `put ${file} there, or correct service.ca_file in the configuration`);
  }
}
