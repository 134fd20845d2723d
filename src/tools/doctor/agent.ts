import { message, type Text } from "../../domain/message.ts";
import {
  type AgentStatus,
  type BoothStatus,
  type LinkStatus,
  type NoticeStatus,
  type OutputStatus,
  waitingForClockIn,
} from "../../domain/status.ts";
import { megabytes } from "../../domain/traffic.ts";
import { durationText, linkText, SET_UP_HOW, storageText } from "../texts.ts";
import { bad, type Finding, joined, ok, present, skipped, warn } from "./finding.ts";

/** Turns the running agent's status into findings. Pure. */
export function agentFindings(status: AgentStatus): readonly Finding[] {
  const { at, lacks } = status;
  return present([
    ok("agent", message("doctor.runs", { time: durationText(at - status.started_at), gateway: status.gateway_id })),
    ...status.disabled.map(({ booth, reason, advice }) => bad(`${booth} is left out`, reason, advice)),
    lacks.length > 0 && warn("set-up", message("doctor.lacks", { what: lacks.join(", ") }), SET_UP_HOW),
    clockFinding(status),
    ...status.booths.flatMap((booth) => boothFindings(booth, at)),
    lacks.length === 0
      ? linkFinding("service link", status.service, at)
      : skipped("service link", message("doctor.set_up_first")),
    ...pageFindings(status.page),
    ...status.shared.map(({ booth, link }) => linkFinding(`shared connection of ${booth}`, link, at)),
    ...status.outputs.flatMap((output) => outputFindings(output, at)),
    trafficFinding(status.traffic),
    ...status.notices.map((notice) => noticeFinding(notice, at)),
    ...status.certificates.map(certificateFinding),
  ]);
}

function certificateFinding({ link, server, expires, state, advice }: AgentStatus["certificates"][number]): Finding {
  const own = link === "opcua" ? "own OPC UA certificate" : "client certificate";
  const what = server === null ? own : `certificate of ${server}`;
  const text = `${state.replace("_", " ")}, ends on ${new Date(expires).toISOString().slice(0, 10)}`;
  if (state === "valid") return ok(what, text);
  return state === "expired" ? bad(what, text, advice) : warn(what, text, advice);
}

/** Reports the page even if it is meant to be open: only the user knows whether that is so. */
function pageFindings(page: AgentStatus["page"]): Finding[] {
  if (page === undefined) return [];
  const { network, devices, scraped } = page;
  const how = network === "always" ? `always; signed in: ${devices}` : "for a time";
  const what = "figures on the network";
  return present([
    network !== "closed" && ok("page", message("doctor.page_open", { how })),
    scraped !== undefined &&
      (scraped.trouble === ""
        ? ok(what, message("doctor.scrape_open", { port: scraped.port.toString() }))
        : bad(what, scraped.trouble, message("doctor.scrape_how"))),
  ]);
}

function outputFindings({ name, link, pushed }: OutputStatus, now: number): Finding[] {
  const what = `output ${name}`;
  const found = linkFinding(what, link, now);
  if (pushed === undefined || pushed.given_up === 0) return [found];
  const text = message("doctor.figures_given_up", { count: pushed.given_up.toString(), reason: pushed.reason });
  return [found, warn(`figures of ${what}`, text, message("doctor.collector_log"))];
}

/** Reports the month's data budget. The finding is a warning while the budget slows down any traffic. */
function trafficFinding(traffic: AgentStatus["traffic"]): Finding | false {
  if (traffic === undefined || traffic.budget_bytes === null) return false;
  const { month, budget_bytes, reason, advice } = traffic;
  const what = "data of the month";
  if (reason !== "") return warn(what, reason, advice);
  return ok(what, message("doctor.data_used", { used: megabytes(month.metered), budget: megabytes(budget_bytes) }));
}

/** Returns the finding for an agent that does not answer. `why` also says what to do. */
export function noAgentFinding(why: Text): Finding {
  return bad("agent", why, message("doctor.start_agent"));
}

function clockFinding({ clock: { synced, offset_ms }, lacks, booths }: AgentStatus): Finding {
  if (synced) {
    const off = offset_ms === null ? "" : `, the box's own clock is ${Math.abs(Math.round(offset_ms))} ms off`;
    return ok("clock", `synchronized${off}`);
  }
  if (lacks.length > 0) return skipped("clock", message("doctor.clock_later"));
  if (offset_ms !== null) return bad("clock", message("doctor.clock_contradicted"), message("doctor.clock_compare"));
  const todo = message("doctor.clock_reach", { count: waitingForClockIn(booths) });
  return bad("clock", message("doctor.clock_unvouched"), todo);
}

function boothFindings({ booth, log, provisioning, plc, serial }: BoothStatus, now: number): Finding[] {
  const { trouble, storage, refused, too_long, forked, lacking } = log;
  const { count, newest } = refused;
  const { state, delivery, reason, advice } = provisioning;
  const todo = advice === "" ? message("doctor.status_shows") : advice;
  return present([
    linkFinding(`PLC of ${booth}`, plc, now),
    ...(plc.notes ?? []).map((note) => ok(`PLC of ${booth}`, note)),
    trouble !== "" && bad(`store of ${booth}`, trouble, message("doctor.see_disk")),
    storage !== null && storageFinding(`space of ${booth}`, storage),
    newest !== null &&
      warn(`refused records of ${booth}`, message("doctor.aside", { count, ...newest }), message("doctor.aside_todo")),
    too_long !== null &&
      warn(
        `long records of ${booth}`,
        message("log.too_long", { count: too_long.count, ...too_long.newest }),
        message("log.too_long_todo"),
      ),
    // Accepts a service that does not confirm readings, or does not accept any: this is not a fault.
    delivery === "none" && ok(`readings of ${booth}`, message("doctor.kept_here")),
    delivery === "broker" && ok(`readings of ${booth}`, message("doctor.unconfirmed")),
    forked !== null && warn(`log of ${booth}`, forked.reason, forked.advice),
    lacking !== null && warn(`records of ${booth} at the service`, lacking.reason, message("log.lacking_todo")),
    state === "active"
      ? ok(`binding of ${booth}`, message("doctor.active_as", { serial: serial ?? "?" }))
      : warn(`binding of ${booth}`, joined(state.replaceAll("_", " "), reason), todo),
  ]);
}

function storageFinding(what: string, storage: NonNullable<BoothStatus["log"]["storage"]>): Finding {
  const text = storageText(storage);
  if (storage.health.low) return bad(what, text, message("doctor.free_space"));
  if (storage.hours_to_full !== null && storage.hours_to_full < 24)
    return warn(what, text, message("doctor.full_soon"));
  return storage.quarantined > 0 ? warn(what, text, message("doctor.quarantined")) : ok(what, text);
}

function noticeFinding({ name, link, last, waiting }: NoticeStatus, now: number): Finding {
  const what = `notice ${name}`;
  if (link.kind !== "up") return linkFinding(what, link, now);
  if (last === null) return ok(what, `no event to report yet; test it with "booth-gateway notify test ${name}"`);
  const { what: event, answer } = last;
  const newest = { event, time: durationText(now - last.at), answer };
  if (waiting === 0) return ok(what, message("doctor.notice_answered", newest));
  return ok(what, message("doctor.notice_answered_more", { ...newest, count: waiting.toString() }));
}

function linkFinding(what: string, link: LinkStatus, now: number): Finding {
  const text = linkText(link, now);
  if (link.kind === "up") return ok(what, text);
  const todo = message("text.at", { place: what, text: link.advice === "" ? link.reason : link.advice });
  return link.kind === "down" ? bad(what, text, todo) : warn(what, text, todo);
}
