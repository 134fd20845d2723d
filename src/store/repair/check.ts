import type { StreamInfo } from "../port.ts";
import type { Quarantine } from "./quarantine.ts";

/**
 * Goes through all that is stored, a bounded piece at each call: the file's pages at once, every stream's rows, then the facts that have outlived theirs, and what stands beside.
 * `at_seq` is told where it is. false: the end is reached, and the next call begins anew.
 */
export function createCheck(
  quarantine: Quarantine,
  streams: () => readonly StreamInfo[],
  at_seq: (seq: number) => void = () => undefined,
): () => boolean {
  let at: { stream: string; part: "rows" | "facts"; from: number } | null = null;
  const begin = (info: StreamInfo) => ({ stream: info.stream, part: "rows", from: info.oldest_seq }) as const;
  return () => {
    if (at === null) quarantine.lookAtPages();
    const all = streams();
    const index = Math.max(
      0,
      all.findIndex(({ stream }) => stream === at?.stream),
    );
    const info = all[index];
    if (info === undefined) return false;
    const now = at?.stream === info.stream ? at : begin(info);
    if (now.part === "rows") at_seq(now.from);
    const next = now.part === "rows" ? quarantine.step(info, now.from) : quarantine.oldFacts(info, now.from);
    if (next !== null) at = { ...now, from: next <= now.from ? now.from + 1 : next };
    else if (now.part === "rows") at = { ...now, part: "facts", from: 1 };
    else {
      quarantine.lookBeside(info.stream);
      const following = all[index + 1];
      at = following === undefined ? null : begin(following);
    }
    return at !== null;
  };
}
