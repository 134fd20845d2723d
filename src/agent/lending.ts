import { LinkError } from "../core/link-error.ts";
import type { AgentControl, Clock } from "../ports.ts";
import type { Booth } from "./booth.ts";
import { createVisits, type Visits } from "./visits.ts";

/** The agent's links, as far as tools may borrow them. */
export interface Lending extends Pick<AgentControl, "lentLinks" | "askPlc"> {
  visits(link: string): Visits | undefined;
}

export function boothsByLink(booths: readonly Booth[]): Map<string, Booth[]> {
  return Map.groupBy(booths, ({ setup }) => setup.link ?? setup.config.id);
}

export function openLending(booths: readonly Booth[], clock: Clock): Lending {
  const links = [...boothsByLink(booths)].flatMap(([link, sharing]) => {
    const lends = sharing.flatMap(({ setup }) => setup.lend ?? []);
    const [first] = lends;
    if (first === undefined) return [];
    return [{ link, units: [...new Set(lends.map(({ unit }) => unit))], visits: createVisits(clock, first.ask) }];
  });
  const find = (wanted: string): Visits | undefined => links.find(({ link }) => link === wanted)?.visits;
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
