import type { AgentStatus, BoothStatus, CertificateStatus, DisabledBooth } from "../domain/status.ts";
import { differencesText } from "../domain/read-back.ts";
import { askAgent, socketPath } from "../tools/agent-client.ts";
import type { Run } from "./command.ts";
import { linkText, sayings } from "./link-text.ts";
import { show } from "./show.ts";
import { storageText } from "./storage-text.ts";
import { PLAIN, styleOf, type Style } from "./style.ts";
import { lasting } from "./text.ts";

const CLOCK =
  "NOT SYNCHRONISED: nobody has vouched for the time since the box started, and nothing is sent until then; it comes with the service or a time server";

const CONTRADICTED =
  "NOT SYNCHRONISED: the service's answers contradict the time, or it stands still until it is put right; compare the service's clock with the right time";

export const statusCommand: Run = async ({ values, io }) => {
  const socket = await socketPath(values, io);
  return show({ values, io }, async () => {
    // The agent answers its own shape.
    const status = (await askAgent(socket, { method: "GET", path: "/status" })) as AgentStatus;
    return { answer: status, text: statusText(status, styleOf(io)) };
  });
};

/** For people: one block per booth. */
export function statusText(status: AgentStatus, style: Style = PLAIN): string {
  const head = [
    `gateway   ${status.gateway_id}, agent ${status.agent_version}, running for ${lasting(status.at - status.started_at)}`,
    `service   ${status.service.url}: ${linkText(status.service, status.at, style)}`,
    ...brokerLines(status.service),
  ];
  const config =
    status.config_refused === null
      ? []
      : [
          `config    ${style.bad("the last good one is in use")}, the file isn't: ${status.config_refused.trim()}; correct the file, then restart the agent`,
        ];
  const wrong = status.clock.offset_ms === null ? CLOCK : CONTRADICTED;
  const clock = status.clock.synced ? [] : [`clock     ${style.warn(wrong)}`];
  const booths = status.booths.flatMap((booth) => ["", ...boothLines(booth, status, style)]);
  const disabled = status.disabled.flatMap((booth) => ["", ...disabledLines(booth, status.at, style)]);
  const certificates = status.certificates.map(certificateLine);
  return `${[...head, ...config, ...clock, ...certificates, ...booths, ...disabled].join("\n")}\n`;
}

/** Only where something of it is worth telling. */
function brokerLines({ mqtt, broker_url }: AgentStatus["service"]): string[] {
  return mqtt === undefined || mqtt.why === ""
    ? []
    : [`broker    ${broker_url ?? ""}: MQTT ${mqtt.version}, ${mqtt.why}`];
}

function certificateLine({ link, server, expires, state, advice }: CertificateStatus): string {
  const own = link === "opcua" ? "OPC UA" : "client";
  const whose = server === null ? `the gateway's ${own} certificate` : `the certificate of ${server}`;
  const day = new Date(expires).toISOString().slice(0, 10);
  const ends =
    state === "expired" ? `EXPIRED on ${day}` : state === "ends_soon" ? `ENDS SOON, on ${day}` : `ends on ${day}`;
  return `keys      ${whose} ${ends}${advice === "" ? "" : `: ${advice}`}`;
}

function disabledLines({ booth, serial, since, reason, advice }: DisabledBooth, now: number, style: Style): string[] {
  return [
    `${booth}   serial ${serial ?? "not entered"}`,
    `  ${style.bad("DISABLED")}  for ${lasting(now - since)}: ${reason}`,
    `  advice    ${advice}`,
  ];
}

function boothLines(booth: BoothStatus, status: AgentStatus, style: Style): string[] {
  const { now, log, provisioning } = booth;
  const bound = [provisioning.account, provisioning.facility].filter((name) => name !== null).join(", ");
  const why = sayings(provisioning.reason, provisioning.advice);
  const waiting = log.newest_seq - log.acked_seq;
  const pending = `${log.pending.toString()} polls not yet committed (at most ${lasting(status.loss_window_ms)} of readings are lost at a power cut, none at a crash)`;
  return [
    `${booth.booth}   serial ${booth.serial ?? "not entered"}`,
    `  bound     ${provisioning.state.replaceAll("_", " ")}${bound === "" ? "" : ` (${bound})`}${why === "" ? "" : `: ${why}`}`,
    ...(provisioning.refused_revision === null
      ? []
      : [
          `  config    the service's revision ${provisioning.refused_revision.toString()} was not taken: what was in force before still is`,
        ]),
    `  PLC       ${booth.plc.address}: ${linkText(booth.plc, status.at, style)}`,
    ...(now === null
      ? []
      : [
          `  mode      ${now.mode}${now.since === null ? "" : ` for ${lasting(booth.time - now.since)}`}${now.in_gap ? " (no answer now)" : ""}`,
          `  cycles    ${now.cycles_today.toString()} today${now.cycles_total === null ? "" : `, ${now.cycles_total.toString()} by the PLC's counter`}`,
          `  filters   ${filtersText(now)}`,
          `  program   ${now.plc_program ?? "?"} ${now.plc_program_revision ?? "?"}, firmware ${now.firmware_version ?? "?"}`,
        ]),
    `  log       ${log.newest_seq.toString()} records, ${delivered(booth, waiting)}; ${pending}`,
    ...refusedLines(log.refused),
    ...(log.forked === null ? [] : [`  ${style.warn("RENAMED")}   ${log.forked.reason}; ${log.forked.advice}`]),
    ...reportLines(booth.reports, status.at),
    ...(log.storage === null ? [] : [`  storage   ${storageText(log.storage)}`]),
    ...(log.trouble === "" ? [] : [`  ${style.bad("STORE")}     ${log.trouble}`]),
  ];
}

function refusedLines({ count, newest }: BoothStatus["log"]["refused"]): string[] {
  if (newest === null) return [];
  const records =
    count === 1
      ? "1 record that the service will never take is"
      : `${count.toString()} records that the service will never take are`;
  return [`  REFUSED   ${records} kept aside; the newest, ${newest.seq.toString()}: ${newest.reason}`];
}

function reportLines({ refused, read_back }: BoothStatus["reports"], now: number): string[] {
  const differences = read_back?.differences ?? [];
  return [
    ...(refused === null
      ? []
      : [`  REFUSED   the report on the booth's devices, ${lasting(now - refused.at)} ago: ${refused.reason}`]),
    ...(differences.length === 0 ? [] : [`  service   shows ${differencesText(differences)}`]),
  ];
}

/** How far the log has come, and by whose word. */
function delivered({ log, provisioning }: BoothStatus, waiting: number): string {
  const acked = log.acked_seq.toString();
  switch (provisioning.delivery) {
    case "service":
      return `${acked} acked, ${waiting.toString()} waiting`;
    case "broker":
      return `${acked} handed to the broker, not confirmed by the service, ${waiting.toString()} waiting`;
    case "none":
      return "kept here alone: this service takes no readings";
    case "unknown":
      return `${waiting.toString()} kept here until the booth is bound`;
  }
}

function filtersText(now: NonNullable<BoothStatus["now"]>): string {
  const texts = Object.entries(now.filters).map(([type, filter]) => {
    const used = filter.percent === null ? "use unknown" : `${filter.percent.toFixed(0)} %`;
    return `${type.replace("_filter", "")} ${used}${filter.overuse_since === null ? "" : " OVERUSED"}`;
  });
  return texts.length === 0 ? "none known" : texts.join(", ");
}
