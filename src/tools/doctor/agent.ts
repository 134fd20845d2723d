import { say } from "../../domain/sentences.ts";
import {
  type AgentStatus,
  type BoothStatus,
  type LinkStatus,
  type NoticeStatus,
  type OutputStatus,
  waitingForClockIn,
} from "../../domain/status.ts";
import { megabytes } from "../../domain/traffic.ts";
import { lasting, linkText, sayings, SET_UP_HOW, storageText } from "../texts.ts";
import { bad, ok, skipped, warn, type Finding } from "./finding.ts";

/** What the running agent says of itself and its booths, and what follows from it. Pure. */
export function agentFindings(status: AgentStatus): readonly Finding[] {
  return [
    ok("agent", say("doctor.runs", { time: lasting(status.at - status.started_at), gateway: status.gateway_id })),
    ...status.disabled.map(({ booth, reason, advice }) => bad(`${booth} is left out`, reason, advice)),
    ...(status.lacks.length === 0
      ? []
      : [warn("set-up", say("doctor.lacks", { what: status.lacks.join(" and no ") }), SET_UP_HOW)]),
    clockFinding(status),
    ...status.booths.flatMap((booth) => boothFindings(booth, status.at)),
    status.lacks.length === 0
      ? linkFinding("service link", status.service, status.at)
      : skipped("service link", say("doctor.set_up_first")),
    ...pageFindings(status.page),
    ...status.shared.map(({ booth, link }) => linkFinding(`shared connection of ${booth}`, link, status.at)),
    ...status.outputs.flatMap((output) => outputFindings(output, status.at)),
    ...trafficFindings(status.traffic),
    ...status.notices.map((notice) => noticeFinding(notice, status.at)),
    ...status.certificates.map(({ link, server, expires, state, advice }) => {
      const own = link === "opcua" ? "own OPC UA certificate" : "client certificate";
      const what = server === null ? own : `certificate of ${server}`;
      const said = `${state.replace("_", " ")}, ends on ${new Date(expires).toISOString().slice(0, 10)}`;
      if (state === "valid") return ok(what, said);
      return state === "expired" ? bad(what, said, advice) : warn(what, said, advice);
    }),
  ];
}

/** A door that is open is told of; whether that is meant, nobody here knows. */
function pageFindings(page: AgentStatus["page"]): Finding[] {
  if (page === undefined) return [];
  const how = page.network === "always" ? `always; signed in: ${page.devices}` : "for a time";
  return [
    ...(page.network === "closed" ? [] : [ok("page", say("doctor.page_open", { how }))]),
    ...scrapedFindings(page.scraped),
  ];
}

function scrapedFindings(scraped: NonNullable<AgentStatus["page"]>["scraped"]): Finding[] {
  if (scraped === undefined) return [];
  const { port, trouble } = scraped;
  if (trouble !== "") return [bad("figures on the network", trouble, say("doctor.scrape_how"))];
  return [ok("figures on the network", say("doctor.scrape_open", { port: port.toString() }))];
}

function outputFindings({ name, link, pushed }: OutputStatus, now: number): Finding[] {
  const what = `output ${name}`;
  const found = linkFinding(what, link, now);
  if (pushed === undefined || pushed.given_up === 0) return [found];
  const said = say("doctor.figures_given_up", { count: pushed.given_up.toString(), reason: pushed.reason });
  return [found, warn(`figures of ${what}`, said, say("doctor.collector_log"))];
}

/** A budget that gives way is told of as long as it does. */
function trafficFindings(traffic: AgentStatus["traffic"]): Finding[] {
  if (traffic === undefined || traffic.budget_bytes === null) return [];
  const { month, budget_bytes, reason, advice } = traffic;
  if (reason !== "") return [warn("data of the month", reason, advice)];
  return [
    ok(
      "data of the month",
      say("doctor.data_used", { used: megabytes(month.metered), budget: megabytes(budget_bytes) }),
    ),
  ];
}

/** Where the agent doesn't answer. `why` says what to do as well. */
export function noAgentFinding(why: string): Finding {
  return bad("agent", why, say("doctor.start_agent"));
}

function clockFinding({ clock, lacks, booths }: AgentStatus): Finding {
  const { synced, offset_ms } = clock;
  if (!synced && lacks.length > 0) return skipped("clock", say("doctor.clock_later"));
  const off = offset_ms === null ? "" : `, the box's own clock is ${Math.abs(Math.round(offset_ms))} ms off`;
  if (synced) return ok("clock", `synchronised${off}`);
  if (offset_ms !== null) {
    const what = say("doctor.clock_contradicted");
    return bad("clock", what, say("doctor.clock_compare"));
  }
  const todo = say("doctor.clock_reach", { count: waitingForClockIn(booths) });
  return bad("clock", say("doctor.clock_unvouched"), todo);
}

function boothFindings(booth: BoothStatus, now: number): Finding[] {
  const { log, provisioning, plc } = booth;
  const bound = provisioning.state.replaceAll("_", " ");
  const todo = provisioning.advice === "" ? say("doctor.status_shows") : provisioning.advice;
  return [
    linkFinding(`PLC of ${booth.booth}`, plc, now),
    ...(plc.notes ?? []).map((note) => ok(`PLC of ${booth.booth}`, note)),
    ...(log.trouble === "" ? [] : [bad(`store of ${booth.booth}`, log.trouble, say("doctor.see_disk"))]),
    ...(log.storage === null ? [] : [storageFinding(booth.booth, log.storage)]),
    ...refusedFindings(booth),
    ...deliveryFindings(booth),
    ...(log.forked === null ? [] : [warn(`log of ${booth.booth}`, log.forked.reason, log.forked.advice)]),
    provisioning.state === "active"
      ? ok(`binding of ${booth.booth}`, say("doctor.active_as", { serial: booth.serial ?? "?" }))
      : warn(`binding of ${booth.booth}`, sayings(bound, provisioning.reason), todo),
  ];
}

/** Where nobody confirms readings, or takes any, that is how the service is, and no fault. */
function deliveryFindings({ booth, provisioning }: BoothStatus): Finding[] {
  const what = `readings of ${booth}`;
  if (provisioning.delivery === "none") return [ok(what, say("doctor.kept_here"))];
  if (provisioning.delivery !== "broker") return [];
  return [ok(what, say("doctor.unconfirmed"))];
}

function refusedFindings({ booth, log }: BoothStatus): Finding[] {
  const { refused, too_long } = log;
  const { count, newest } = refused;
  return [
    ...(newest === null
      ? []
      : [
          warn(
            `refused records of ${booth}`,
            say("doctor.aside", { count, seq: newest.seq, reason: newest.reason }),
            say("doctor.aside_todo"),
          ),
        ]),
    ...(too_long === null
      ? []
      : [
          warn(
            `long records of ${booth}`,
            say("log.too_long", { count: too_long.count, ...too_long.newest }),
            say("log.too_long_todo"),
          ),
        ]),
  ];
}

function storageFinding(booth: string, storage: NonNullable<BoothStatus["log"]["storage"]>): Finding {
  const what = `space of ${booth}`;
  const said = storageText(storage);
  if (storage.health.low) return bad(what, said, say("doctor.free_space"));
  if (storage.hours_to_full !== null && storage.hours_to_full < 24) {
    const todo = say("doctor.full_soon");
    return warn(what, said, todo);
  }
  if (storage.quarantined > 0) return warn(what, said, say("doctor.quarantined"));
  return ok(what, said);
}

function noticeFinding({ name, link, last, waiting }: NoticeStatus, now: number): Finding {
  const what = `notice ${name}`;
  if (link.kind !== "up") return linkFinding(what, link, now);
  if (last === null) return ok(what, `nothing was to be told yet: try it with "booth-gateway notify test ${name}"`);
  const wait = waiting === 0 ? "" : `, ${waiting} events wait`;
  return ok(what, `"${last.what}" ${lasting(now - last.at)} ago: ${last.answer}${wait}`);
}

function linkFinding(what: string, link: LinkStatus, now: number): Finding {
  const said = linkText(link, now);
  if (link.kind === "up") return ok(what, said);
  const todo = link.advice === "" ? `${what}: ${link.reason}` : `${what}: ${link.advice}`;
  return link.kind === "down" ? bad(what, said, todo) : warn(what, said, todo);
}
