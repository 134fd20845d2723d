import { serialTagOf } from "./rules/plc-identity.ts";
import { linkBegins } from "./rules/schedule.ts";
import type { ProvisioningRow } from "../domain/provisioning.ts";
import type { LinkStatus } from "../domain/status.ts";
import type { Sealer } from "../domain/machine.ts";
import type { Booth } from "../runtime/booth.ts";
import { linkLoop, type LinkParts } from "./link-loop.ts";
import { boothsByLink, type SharedLinks } from "./shared-links.ts";
import type { LinkBoothParts } from "./link-booth.ts";
import type { PollGaps } from "./poll-gaps.ts";
import type { Pulse } from "../domain/pulse.ts";

export type PollParts = Omit<LinkParts, "turned" | "due" | "probe_ms" | "begins_in" | "visits" | "booths"> & {
  readonly booths: readonly Booth[];
  readonly pulse: Pulse;
  /** Absent: nobody asks for them. */
  readonly gaps?: PollGaps;
  readonly sealer: Sealer;
  readonly lending: SharedLinks;
};

/** One for each physical link, whatever the number of booths on it. */
export function pollLoops(
  { booths, pulse, gaps, sealer, lending, ...parts }: PollParts,
  signal: AbortSignal,
): Promise<void>[] {
  const links = boothsByLink(booths);
  const begins = linkBegins(
    links.size,
    booths.map(({ setup }) => setup.parameters.groups),
  );
  return [...links].map(([link, sharing], index) =>
    linkLoop(
      {
        ...parts,
        visits: lending.visits(link),
        begins_in: begins[index] ?? 0,
        turned: pulse.loop(`poll of ${sharing.map(({ setup }) => setup.config.id).join(" and ")}`),
        due: (at) => gaps?.due(link, at),
        probe_ms: () => Math.max(...sharing.map(({ setup }) => setup.probe_ms?.() ?? 0)),
        booths: sharing.map((booth) => onLink(booth, sealer)),
      },
      signal,
    ),
  );
}

function onLink(booth: Booth, sealer: Sealer): LinkBoothParts {
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
    makeDriver: () => setup.makeDriver(() => passwordsIn(board.row, sealer)),
    ...(serial === null ? {} : { identity_group: serial.group }),
    booth: setup.config.id,
    groups: setup.parameters.groups,
    intake,
    watch,
    status: () => board.plc,
    setStatus: (status) => {
      // One more try that failed the same way is no news: a PLC that is switched off would wake every loop all night.
      const isNews = status.kind !== board.plc.kind || reasonOf(status) !== reasonOf(board.plc);
      board.plc = status;
      if (isNews) board.news.ring();
    },
  };
}

function reasonOf(status: LinkStatus): string {
  return status.kind === "up" ? "" : status.reason;
}

/** The record names the password before a change and the one after it; nobody says which of them the PLC has by now. */
function passwordsIn({ record }: ProvisioningRow, sealer: Sealer): readonly string[] {
  const { old, new: next } = record?.plc_passwords ?? { old: null, new: null };
  return [next, old].flatMap((sealed) => {
    const opened = sealed === null ? null : sealer.open(sealed);
    return opened === null || opened === "" ? [] : [opened];
  });
}
