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
 * Poll intervals of a history of weeks, in which a poll costs only CPU time. They are half of the time for which a
 * reset button is on, so that no press is missed.
 */
export const HISTORY_POLL: PollSetting = { fast: { poll_interval_ms: 2_000 }, slow: { poll_interval_ms: 20_000 } };

/**
 * Shortest intervals in real time. With shorter ones, polls would only queue up, however fast the booth's clock runs.
 */
const LEAST_REAL_MS = { fast: 10, slow: 30 };
const INTERVAL_MS = { fast: 1_000, slow: 10_000 };

/**
 * Returns the profile's poll intervals. At high speed they are longer, so that pauses of the machine don't count as
 * gaps.
 */
export function pollAt(speed: number): PollSetting {
  const at = (group: "fast" | "slow"): { poll_interval_ms: number } => ({
    poll_interval_ms: Math.round(Math.max(INTERVAL_MS[group], LEAST_REAL_MS[group] * speed)),
  });
  return { fast: at("fast"), slow: at("slow") };
}

/** Returns the configuration of the site's agent, which is an ordinary one except for the clock. */
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
