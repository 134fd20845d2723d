import { type BoothOnLink, type PolledLink, linkLoop } from "../../../src/acquisition/link.ts";
import type { LinkStatus } from "../../../src/domain/status.ts";
import { seededRandom } from "../../support/seeded-random.ts";
import { silentLog } from "../../support/silent-log.ts";

export interface RunningLink {
  /** Every change of the link's state, oldest first. */
  readonly states: readonly LinkStatus[];
  status(): LinkStatus;
  stop(): Promise<void>;
}

/** Runs the real loop over one booth's link until it is stopped. */
export function runLink(
  booth: Omit<BoothOnLink, "booth" | "address" | "status" | "setStatus">,
  { seed, ...parts }: Pick<PolledLink, "clock" | "probe_ms"> & { readonly seed: number },
): RunningLink {
  const states: LinkStatus[] = [];
  let status: LinkStatus = { kind: "down", since: 0, reason: "", advice: "", attempt: 0, next_try_at: null };
  const watched: BoothOnLink = {
    ...booth,
    booth: "test",
    address: "test",
    status: () => status,
    setStatus: (now) => {
      if (now.kind !== status.kind) states.push(now);
      status = now;
    },
  };
  const ending = new AbortController();
  const tools = { random: seededRandom(seed), log: silentLog, begins_in: 0 };
  const running = linkLoop({ ...parts, ...tools, booths: [watched] }, ending.signal);
  // `stop` handles the rejection. Until then it must not count as unhandled.
  running.catch(() => undefined);
  return {
    states,
    status: () => status,
    stop: async () => {
      ending.abort();
      await running;
    },
  };
}
