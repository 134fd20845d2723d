import { LinkError } from "../domain/link-error.ts";
import type { AgentControl } from "../domain/agent-control.ts";
import type { Clock } from "../domain/machine.ts";
import type { Booth } from "../runtime/booth.ts";
import { createSharedLink, type SharedLink } from "./share.ts";

/** The agent's links, as far as tools may borrow them. */
export interface SharedLinks extends Pick<AgentControl, "lentLinks" | "askPlc"> {
  visits(link: string): SharedLink | undefined;
}

export function boothsByLink(booths: readonly Booth[]): Map<string, Booth[]> {
  return Map.groupBy(booths, ({ setup }) => setup.link ?? setup.config.id);
}

export function openSharedLinks(booths: readonly Booth[], clock: Clock): SharedLinks {
  const links = [...boothsByLink(booths)].flatMap(([link, sharing]) => {
    const lends = sharing.flatMap(({ setup }) => setup.lend ?? []);
    const [first] = lends;
    if (first === undefined) return [];
    return [{ link, units: [...new Set(lends.map(({ unit }) => unit))], visits: createSharedLink(clock, first.ask) }];
  });
  const find = (wanted: string): SharedLink | undefined => links.find(({ link }) => link === wanted)?.visits;
  return {
    visits: find,
    lentLinks: () => links.map(({ link, units }) => ({ link, units })),
    askPlc: async (link, ask) => {
      const visits = find(link);
      if (visits === undefined) throw new LinkError("config", `the agent holds no link ${link}`);
      return visits.ask(ask);
    },
  };
}
