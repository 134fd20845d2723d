import type { Lasting } from "../config/usable.ts";
import { linkDown, serviceLinkOf } from "../domain/link-status.ts";
import type { NoticeStatus } from "../domain/status.ts";
import type { NoticeBooth, NoticeMachine } from "../notices/port.ts";
import type { Booth } from "./booth.ts";
import type { AgentSetup, Gateway } from "./gateway.ts";
import { readOwnSecret } from "./secrets.ts";

/** What notices need is loaded where there are any. */
export function noticesOf(
  { config, refused_notices }: Lasting["usable"],
  { log, clock }: Pick<AgentSetup, "log" | "clock">,
): Pick<AgentSetup, "notices" | "refused_notices"> {
  const left_out = refused_notices.map(({ name, error }): NoticeStatus => {
    const advice = 'correct it, try it with "booth-gateway check", then restart the agent; all else runs meanwhile';
    const link = linkDown(clock.wall(), error.brief(), advice);
    log.error({ event: "notice_refused", notice: name }, `notice ${name} is left out: ${link.reason}; ${advice}`);
    return { name, kind: "mail", where: "", link, waiting: 0, open: 0, sent: 0, last: null };
  });
  const { notices, runtime_dir } = config;
  if (notices.length === 0) return { refused_notices: left_out };
  return {
    refused_notices: left_out,
    notices: async (gateway, booths) => {
      const { openNotices } = await import("../notices/notices.ts");
      return openNotices(machineOf(gateway, runtime_dir), notices, booths);
    },
  };
}

function machineOf(gateway: Gateway, runtime_dir: string): NoticeMachine {
  const { clock, random, log, store, identity, gateway_id, news, service, service_url } = gateway;
  return {
    ...{ clock, random, log, store, identity, gateway_id, news, runtime_dir, secret: readOwnSecret },
    service: () => (service_url === null || !service.wanted ? null : serviceLinkOf(service, clock.mono())),
  };
}

/** A booth as notices see it. */
export function noticeBooth({ state, log }: Booth): NoticeBooth {
  return { state, trouble: () => log.trouble };
}
