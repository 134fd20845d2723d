import { stringify } from "yaml";
import type { SiteFolder } from "./folder.ts";

interface GatewayConfigInput {
  readonly folder: SiteFolder;
  readonly serviceUrl: string;
  readonly modbusPort: number;
  readonly pagePort: number;
  /** Absent: not entered yet. */
  readonly serial?: string;
  readonly tz: string;
  readonly poll: PollSetting;
}

type PollSetting = Record<"fast" | "slow", { poll_interval_ms: number }>;

/**
 * How a history of weeks is read: a poll costs CPU time then, and nothing else. Half of what a reset button is held for, so that
 * none is missed.
 */
export const HISTORY_POLL: PollSetting = { fast: { poll_interval_ms: 2_000 }, slow: { poll_interval_ms: 20_000 } };

/** A poll takes real time, however fast the booth's clock runs: below this much of it the polls would only queue up. */
const LEAST_REAL_MS = { fast: 10, slow: 30 };
const INTERVAL_MS = { fast: 1_000, slow: 10_000 };

/** The profile's poll intervals; at high speed wider ones, so that the machine's own pauses don't count as gaps. */
export function pollAt(speed: number): PollSetting {
  const at = (group: "fast" | "slow"): { poll_interval_ms: number } => ({
    poll_interval_ms: Math.round(Math.max(INTERVAL_MS[group], LEAST_REAL_MS[group] * speed)),
  });
  return { fast: at("fast"), slow: at("slow") };
}

/** The configuration that the site's agent starts with: an ordinary one, but for the clock. */
export function gatewayConfig({
  folder,
  serviceUrl,
  modbusPort,
  pagePort,
  serial,
  tz,
  poll,
}: GatewayConfigInput): string {
  const config = {
    data_dir: folder.gateway,
    runtime_dir: folder.runtime,
    clock_file: folder.clockFile,
    page: { port: pagePort, lan_port: 0 },
    service: { url: serviceUrl, api_key_file: folder.keyFile },
    booths: [
      {
        id: "booth-1",
        ...(serial === undefined ? {} : { serial }),
        profile: "click-booth",
        modbus: { host: "127.0.0.1", port: modbusPort },
        poll,
        tz,
      },
    ],
  };
  return `# Made by the site at each start; what is changed here is lost.\n${stringify(config)}`;
}
