import { isDeepStrictEqual } from "node:util";
import type { NoticeConfig } from "../config/port.ts";
import type { Lasting } from "../config/usable.ts";
import { linkDown, serviceLinkOf } from "../domain/link-status.ts";
import type { Scrubber } from "../domain/machine.ts";
import type { NoticeTest } from "../domain/notice.ts";
import type { NoticeStatus } from "../domain/status.ts";
import type { NoticeBooth, NoticeMachine, Notices } from "../notices/port.ts";
import type { Booth } from "./booth.ts";
import type { AgentSetup, Configured, Gateway } from "./gateway.ts";
import { type Part, type Parts, together } from "./parts.ts";
import { secretReader } from "./scrubbed.ts";

/** What a process has beside the agent. */
interface Place {
  readonly runtime_dir: string;
  readonly scrubber: Scrubber;
}

/** What notices need is loaded where there are any. */
export function noticesOf(
  { config, refused_notices }: Lasting["usable"],
  { log, clock, runtime_dir, scrubber }: Pick<AgentSetup, "log" | "clock"> & Place,
): Pick<Configured, "notices" | "notice_entries" | "refused_notices"> {
  const left_out = refused_notices.map(({ name, error }): NoticeStatus => {
    const advice = 'correct it, then "booth-gateway reload"; all else runs meanwhile';
    const link = linkDown(clock.wall(), error.brief(), advice);
    log.error({ event: "notice_refused", notice: name }, `notice ${name} is left out: ${link.reason}; ${advice}`);
    return { name, kind: "mail", where: "", link, waiting: 0, open: 0, sent: 0, last: null };
  });
  const { notices } = config;
  if (notices.length === 0) return { refused_notices: left_out };
  return {
    refused_notices: left_out,
    notice_entries: notices,
    notices: async (gateway, booths) => {
      const { openNotices } = await import("../notices/notices.ts");
      return openNotices(machineOf(gateway, { runtime_dir, scrubber }), notices, booths);
    },
  };
}

/** The agent's notices, which come and go while it runs. What they have told is kept, so any change begins all of them anew. */
export function createNoticeParts(gateway: Gateway, booths: readonly Booth[], parts: Parts) {
  let begun: { readonly notices: Notices; readonly part: Part } | null = null;
  let as: { readonly entries: readonly NoticeConfig[]; readonly booths: readonly Booth[] } = {
    entries: [],
    booths: [],
  };
  const isSame = (entries: readonly NoticeConfig[]): boolean =>
    isDeepStrictEqual(as.entries, entries) &&
    as.booths.length === booths.length &&
    as.booths.every((booth, index) => booth === booths[index]);
  return {
    status: (): readonly NoticeStatus[] => begun?.notices.status() ?? [],
    test: async (name: string | undefined): Promise<readonly NoticeTest[]> =>
      (await begun?.notices.test(name, parts.signal)) ?? [],
    /** Goes over to these, and to the booths that there are now. */
    async become({ notices: open, notice_entries: entries = [] }: Configured): Promise<void> {
      if (isSame(entries)) return;
      await begun?.part.end();
      as = { entries, booths: [...booths] };
      begun = null;
      if (open === undefined) return;
      const notices = await open(gateway, booths.map(noticeBooth));
      const part = parts.beginTeller({ notices: (signal) => together(notices.run(signal), signal) });
      begun = { notices, part };
    },
  };
}

function machineOf(gateway: Gateway, { runtime_dir, scrubber }: Place): NoticeMachine {
  const { clock, random, log, store, identity, gateway_id, news, service, service_url } = gateway;
  return {
    clock,
    random,
    log,
    store,
    identity,
    gateway_id,
    news,
    runtime_dir,
    scrubber,
    secret: secretReader(scrubber),
    service: () => (service_url === null || !service.wanted ? null : serviceLinkOf(service, clock.mono())),
  };
}

/** A booth as notices see it. */
function noticeBooth({ state, log }: Booth): NoticeBooth {
  return { state, trouble: () => log.trouble };
}
