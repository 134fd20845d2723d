import { stringify } from "yaml";
import type { SiteFolder } from "./folder.ts";

export interface GatewayConfigInput {
  readonly folder: SiteFolder;
  readonly serviceUrl: string;
  readonly modbusPort: number;
  readonly serial: string;
  readonly tz: string;
}

/** The configuration that the site's agent starts with: an ordinary one, but for the clock. */
export function gatewayConfig({ folder, serviceUrl, modbusPort, serial, tz }: GatewayConfigInput): string {
  const config = {
    data_dir: folder.gateway,
    runtime_dir: folder.runtime,
    clock_file: folder.clockFile,
    service: { url: serviceUrl, api_key_file: folder.keyFile },
    booths: [{ id: "booth-1", serial, profile: "click-booth", modbus: { host: "127.0.0.1", port: modbusPort }, tz }],
  };
  return `# Made by the site at each start; what is changed here is lost.\n${stringify(config)}`;
}
