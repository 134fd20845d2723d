import { serialTagOf } from "../core/plc-identity.ts";
import type { Bell } from "./bell.ts";
import type { Booth } from "./booth.ts";
import { linkLoop, type LinkParts } from "./link-loop.ts";
import type { LinkBoothParts } from "./link-parts.ts";
import type { Pulse } from "./pulse.ts";

export type PollParts = Omit<LinkParts, "turned" | "probe_ms" | "booths"> & {
  readonly booths: readonly Booth[];
  readonly news: Bell;
  readonly pulse: Pulse;
};

/** One for each physical link, whatever the number of booths on it. */
export function pollLoops({ booths, news, pulse, ...parts }: PollParts, signal: AbortSignal): Promise<void>[] {
  const links = Map.groupBy(booths, ({ setup }) => setup.link ?? setup.config.id);
  return [...links.values()].map((sharing) =>
    linkLoop(
      {
        ...parts,
        turned: pulse.loop(`poll of ${sharing.map(({ setup }) => setup.config.id).join(" and ")}`),
        probe_ms: () => Math.max(...sharing.map(({ setup }) => setup.probe_ms?.() ?? 0)),
        booths: sharing.map((booth) => onLink(booth, news)),
      },
      signal,
    ),
  );
}

function onLink(booth: Booth, news: Bell): LinkBoothParts {
  const { setup, board, watch } = booth;
  const intake: Booth["intake"] = {
    ...booth.intake,
    answered(group, samples) {
      const trouble = booth.intake.answered(group, samples);
      if (trouble === null) board.answered += 1;
      return trouble;
    },
  };
  const serial = serialTagOf(setup.profile);
  return {
    ...setup,
    ...(serial === null ? {} : { identity_group: serial.group }),
    booth: setup.config.id,
    groups: setup.parameters.groups,
    intake,
    watch,
    status: () => board.plc,
    setStatus: (status) => {
      board.plc = status;
      news.ring();
    },
  };
}
