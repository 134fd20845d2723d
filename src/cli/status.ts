import { message } from "../domain/message.ts";
import { render } from "../domain/messages/render.ts";
import {
  type AgentStatus,
  type BoothStatus,
  type CertificateStatus,
  type DisabledBooth,
  type NoticeStatus,
  type OutputStatus,
  type SharedConnectionStatus,
  waitingForClockIn,
} from "../domain/status.ts";
import { differencesText } from "../domain/read-back.ts";
import { allOf, megabytes, type Period, PURPOSES } from "../domain/traffic.ts";
import { shownVersions } from "../domain/summary.ts";
import type { FilterUse } from "../reports/filter-use.ts";
import { agentOf } from "../tools/agent-client.ts";
import type { Run } from "../tools/command.ts";
import {
  lackText,
  durationText,
  linesText,
  linkText,
  PLAIN,
  sayings,
  storageText,
  type Style,
  styleOf,
} from "../tools/texts.ts";
import { forecastText, usedText } from "./filter-words.ts";
import { show } from "../tools/print.ts";

function unsyncedText(booths: readonly BoothStatus[]): string {
  const count = waitingForClockIn(booths);
  const records = count === 1 ? "1 record waits" : `${count} records wait`;
  return `NOT SYNCHRONIZED: no time source has confirmed the clock since the start; ${records} for that before the service gets them, outputs and notices continue with the gateway's own time, marked as unconfirmed; connect the service or a time server (NTP)`;
}

const CONTRADICTED =
  "NOT SYNCHRONIZED: the service's answers contradict the time, or it stands still until it is put right; compare the service's clock with the right time";

export const statusCommand: Run = async (call) => {
  const agent = await agentOf(call);
  return show(call, async () => {
    const status = await agent.status();
    const ahead = call.values["json"] === true ? {} : await forecastsOf(agent, status);
    return { answer: status, text: statusText(status, styleOf(call.io), ahead) };
  });
};

/** The texts of filter forecasts, by booth and filter. */
type Forecasts = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Returns the forecasts of all filters. A booth whose report fails gets no forecasts. */
async function forecastsOf(agent: Awaited<ReturnType<typeof agentOf>>, status: AgentStatus): Promise<Forecasts> {
  const query = new URLSearchParams();
  const forecasts = status.booths.map(async ({ booth, tz }) => {
    const asked = agent.report<{ readonly data: readonly FilterUse[] }>(booth, "filter_use", query);
    const { data } = await asked.catch(() => ({ data: [] }));
    return [
      booth,
      Object.fromEntries(data.map(({ filter, forecast }) => [filter, forecastText(forecast, tz)])),
    ] as const;
  });
  return Object.fromEntries(await Promise.all(forecasts));
}

/** Returns the status as text, with one block per booth. */
export function statusText(status: AgentStatus, style: Style = PLAIN, ahead: Forecasts = {}): string {
  const { at, service, clock, config_refused } = status;
  const wrong = clock.offset_ms === null ? unsyncedText(status.booths) : CONTRADICTED;
  return linesText([
    `gateway   ${status.gateway_id}, agent ${status.agent_version}, running for ${durationText(at - status.started_at)}`,
    status.lacks.length === 0 ? null : `set-up    ${style.warn("to be set up")}: ${lackText(status.lacks)}`,
    service.url === null ? null : `service   ${service.url}: ${linkText(service, at, style)}`,
    service.mqtt === undefined || service.mqtt.why === ""
      ? null
      : `broker    ${service.broker_url ?? ""}: MQTT ${service.mqtt.version}, ${render(service.mqtt.why)}`,
    config_refused === null
      ? null
      : `config    ${style.bad("the last good one is in use")}, the file isn't: ${render(config_refused).trim()}; correct the file, then "booth-gateway reload"`,
    status.needs_restart.length === 0
      ? null
      : `config    ${style.warn("waits for a restart of the service")}: ${status.needs_restart.join(", ")}`,
    clock.synced ? null : `clock     ${style.warn(wrong)}`,
    pageLine(status.page),
    scrapedLine(status.page?.scraped, style),
    ...trafficLines(status.traffic, style),
    ...status.certificates.map(certificateLine),
    ...status.outputs.map((output) => outputLine(output, at, style)),
    ...status.notices.map((notice) => noticeLine(notice, at, style)),
    ...status.shared.map((shared) => sharedLine(shared, at, style)),
    ...status.booths.flatMap((booth) => ["", ...boothLines(booth, status, { style, ahead: ahead[booth.booth] ?? {} })]),
    ...status.disabled.flatMap((booth) => ["", ...disabledLines(booth, at, style)]),
  ]);
}

/** Returns a line about the page if it is open on the network, else null. */
function pageLine(page: AgentStatus["page"]): string | null {
  if (page === undefined || page.network === "closed") return null;
  const devices = page.devices === 1 ? "1 device signed in" : `${page.devices} devices signed in`;
  const how = page.network === "always" ? `always, ${devices}` : "for a time";
  return `page      open on the network (${how}): ${page.urls.length === 0 ? "no network" : page.urls.join(", ")}`;
}

function scrapedLine(scraped: NonNullable<AgentStatus["page"]>["scraped"], style: Style): string | null {
  if (scraped === undefined) return null;
  const { port, trouble } = scraped;
  return `figures   ${trouble === "" ? `open on the network at port ${port}, with HTTPS and a token` : style.bad(render(trouble))}`;
}

function trafficLines(traffic: AgentStatus["traffic"], style: Style): string[] {
  if (traffic === undefined) return [];
  const { today, month, budget_bytes, reason, advice } = traffic;
  const both = ({ traffic: all }: Period): string =>
    `${megabytes(allOf(all).up)} MB up, ${megabytes(allOf(all).down)} down`;
  const budget =
    budget_bytes === null
      ? ""
      : `; ${megabytes(month.metered)} of ${megabytes(budget_bytes)} MB of the budget are used`;
  const cuts = month.cuts === 0 ? "" : `; ${lostText(month.cuts)}`;
  const parts = PURPOSES.map((purpose) => {
    const { up, down } = month.traffic[purpose];
    return `${purpose} ${megabytes(up + down)}`;
  });
  return [
    `data      today ${both(today)}; this month ${both(month)}${budget}${cuts}`,
    `          of the month, MB: ${parts.join(", ")}`,
    ...(reason === "" ? [] : [`          ${style.warn("BUDGET")}: ${render(reason)}; ${render(advice)}`]),
  ];
}

function lostText(cuts: number): string {
  return cuts === 1
    ? "up to 1 h before a power cut isn't in it"
    : `up to 1 h before each of ${cuts} power cuts isn't in it`;
}

function certificateLine({ link, server, expires, state, advice }: CertificateStatus): string {
  const own = link === "opcua" ? "OPC UA" : "client";
  const whose = server === null ? `the gateway's ${own} certificate` : `the certificate of ${server}`;
  const day = new Date(expires).toISOString().slice(0, 10);
  const ends =
    state === "expired" ? `EXPIRED on ${day}` : state === "ends_soon" ? `ENDS SOON, on ${day}` : `ends on ${day}`;
  return `keys      ${whose} ${ends}${advice === "" ? "" : `: ${render(advice)}`}`;
}

function outputLine({ name, url, link, booths, pushed }: OutputStatus, now: number, style: Style): string {
  const waiting = booths.reduce((sum, booth) => sum + booth.waiting, 0);
  const passed = booths.flatMap(({ booth, passed_over: over }) => {
    const ranges = over.map(({ from, to }) => `${from} to ${to}`).join(", ");
    return over.length === 0 ? [] : [`records ${ranges} of ${booth} were passed over`];
  });
  const rest = [...(waiting === 0 ? [] : [`${waiting} records wait`]), ...passed, ...pushedText(pushed)];
  return `output    ${[`${name}, ${url === "" ? "left out" : url}: ${linkText(link, now, style)}`, ...rest].join("; ")}`;
}

function pushedText(pushed: OutputStatus["pushed"]): readonly string[] {
  if (pushed === undefined) return [];
  const { waiting, given_up, reason } = pushed;
  return [
    ...(waiting === 0 ? [] : [`${waiting} sets of figures wait`]),
    ...(given_up === 0 ? [] : [`${given_up} data points were given up; why the last of them were: ${render(reason)}`]),
  ];
}

function noticeLine({ name, kind, where, link, waiting, last }: NoticeStatus, now: number, style: Style): string {
  if (where === "") return `notice    ${name}, left out: ${linkText(link, now, style)}`;
  const state = link.kind === "up" ? [] : [linkText(link, now, style)];
  const newest =
    last === null
      ? "nothing told yet"
      : `told "${last.what}" ${durationText(now - last.at)} ago: ${render(last.answer)}`;
  const rest = waiting === 0 ? [] : [`${waiting} events wait`];
  return `notice    ${name}, ${kind} to ${where}: ${[...state, ...rest, newest].join("; ")}`;
}

function sharedLine(shared: SharedConnectionStatus, now: number, style: Style): string {
  const { booth, address, port, link, clients, from_polls, passed, refused_writes } = shared;
  const counts = `${clients} clients, ${from_polls} answers from polls, ${passed} reads passed on, ${refused_writes} writes refused`;
  return `shared    the PLC of ${booth} at ${address}:${port}: ${linkText(link, now, style)}; ${counts}`;
}

function disabledLines({ booth, serial, since, reason, advice }: DisabledBooth, now: number, style: Style): string[] {
  return [
    `${booth}   serial ${serial ?? "not entered"}`,
    `  ${style.bad("DISABLED")}  for ${durationText(now - since)}: ${render(reason)}`,
    `  advice    ${render(advice)}`,
  ];
}

function boothLines(
  booth: BoothStatus,
  { at, loss_window_ms }: AgentStatus,
  { style, ahead }: { readonly style: Style; readonly ahead: Readonly<Record<string, string>> },
): (string | null)[] {
  const { plc, log, provisioning, reports } = booth;
  const { refused_revision } = provisioning;
  const bound = [provisioning.account, provisioning.facility].filter((name) => name !== null).join(", ");
  const why = sayings(render(provisioning.reason), render(provisioning.advice));
  const pending = `${log.pending} polls not yet committed (at most ${durationText(loss_window_ms)} of readings are lost at a power cut, none at a crash)`;
  const differences = reports.read_back?.differences ?? [];
  return [
    `${booth.booth}   serial ${booth.serial ?? "not entered"}`,
    `  bound     ${provisioning.state.replaceAll("_", " ")}${bound === "" ? "" : ` (${bound})`}${why === "" ? "" : `: ${why}`}`,
    refused_revision === null
      ? null
      : `  config    the service's revision ${refused_revision} was not taken: what was in force before still is`,
    `  PLC       ${plc.address}: ${linkText(plc, at, style)}`,
    ...(plc.notes ?? []).map((note) => `  note      ${render(note)}`),
    ...nowLines(booth, ahead),
    `  log       ${log.newest_seq} records, ${delivered(booth)}; ${pending}`,
    refusedLine(log.refused),
    tooLongLine(log.too_long, style),
    log.forked === null
      ? null
      : `  ${style.warn("RENAMED")}   ${render(log.forked.reason)}; ${render(log.forked.advice)}`,
    log.lacking === null ? null : `  ${style.warn("RESENT")}    ${render(log.lacking.reason)}`,
    reports.refused === null
      ? null
      : `  REFUSED   the report on the booth's devices, ${durationText(at - reports.refused.at)} ago: ${render(reports.refused.reason)}`,
    differences.length === 0 ? null : `  service   shows ${differencesText(differences)}`,
    log.storage === null ? null : `  storage   ${storageText(log.storage)}`,
    log.trouble === "" ? null : `  ${style.bad("STORE")}     ${render(log.trouble)}`,
  ];
}

function nowLines({ now, time }: BoothStatus, ahead: Readonly<Record<string, string>>): string[] {
  if (now === null) return [];
  const since = now.since === null ? "" : ` for ${durationText(time - now.since)}`;
  const versions = shownVersions(now);
  const total = now.cycles_total === null ? "" : `, ${now.cycles_total} by the PLC's counter`;
  return [
    `  mode      ${now.mode}${since}${now.in_gap ? " (no answer now)" : ""}`,
    `  cycles    ${now.cycles_today} today${total}`,
    ...filterLines(now, ahead),
    ...(now.unfit_units ?? []).map(({ tag, reason }) => `  unit      ${tag}: ${render(reason)}`),
    `  program   ${versions.plc_program ?? "?"} ${versions.plc_program_revision ?? "?"}, firmware ${versions.firmware_version ?? "?"}`,
  ];
}

function refusedLine({ count, newest }: BoothStatus["log"]["refused"]): string | null {
  if (newest === null) return null;
  const records =
    count === 1 ? "1 record that the service refuses is" : `${count} records that the service refuses are`;
  return `  REFUSED   ${records} kept here; the newest, ${newest.seq}: ${render(newest.reason)}`;
}

function tooLongLine(too_long: BoothStatus["log"]["too_long"], style: Style): string | null {
  if (too_long === null) return null;
  const { count, newest } = too_long;
  const text = message("log.too_long", { count, ...newest });
  return `  ${style.warn("TOO LONG")}  ${render(message("text.todo", { text, todo: message("log.too_long_todo") }))}`;
}

/** Describes how many records are delivered, and whether the service or the broker confirmed them. */
function delivered({ log: { newest_seq, acked_seq: acked }, provisioning }: BoothStatus): string {
  const waiting = newest_seq - acked;
  switch (provisioning.delivery) {
    case "service":
      return `${acked} acked, ${waiting} waiting`;
    case "broker":
      return `${acked} sent to the broker, not confirmed by the service, ${waiting} waiting`;
    case "none":
      return "stored only on the gateway: this service does not accept readings";
    case "unknown":
      return `${waiting} kept here until the booth is bound`;
  }
}

/** Returns the lines about the filters, in the same words as the page and the command `filters`. */
function filterLines(now: NonNullable<BoothStatus["now"]>, ahead: Readonly<Record<string, string>>): string[] {
  const lines = Object.entries(now.filters).map(([type, filter]) => {
    const forecast = filter.overuse_since === null ? (ahead[type] ?? "") : "OVERUSED";
    const words = [usedText(filter), forecast].filter((text) => text !== "").join(", ");
    return `${type.replace("_filter", "").padEnd(7)} ${words}`;
  });
  const [first = "none known", ...others] = lines;
  return [`  filters   ${first}`, ...others.map((line) => `            ${line}`)];
}
