import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { openDoor, type OpenDoor, type PageCertificate } from "./api/door.ts";
import type { MoreServices } from "./api/services.ts";
import { plcDesk } from "./compose-plc.ts";
import type { Config } from "./core/types/config.ts";
import { helpBox } from "./platform/help-box.ts";
import { readOwnSecret } from "./platform/secrets.ts";
import type { AgentControl, Clock, Logger } from "./ports.ts";

/** With a PIN set beforehand the page is open on the network for so long after boot. */
const AFTER_BOOT_MS = 30 * 60_000;
const LEAST_PIN = /^[\s-]*(?:\d[\s-]*){8,32}$/;

export interface PageParts {
  readonly config: Config;
  /** Where it was read from. */
  readonly file: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly more: MoreServices;
}

/** The real page: its ports, its certificate, and the reports that people leave. */
export async function openPage(agent: AgentControl, { config, file, clock, log, more }: PageParts): Promise<OpenDoor> {
  const { port, lan_port, pin_file } = config.page;
  const dir = join(config.data_dir, "page");
  const certificate = (): Promise<PageCertificate> => certificateIn(dir);
  const help = helpBox(join(config.data_dir, "help"));
  const page = await openDoor({ port, lan_port, certificate }, agent, {
    ...more,
    help,
    plc: plcDesk(file, { agent, clock, log }),
  });
  const { url, trouble } = page.services.door.state();
  if (url === null) log.warn({ event: "page_closed", port }, trouble);
  else log.info({ event: "page", url }, `the page is at ${url}`);
  const left = AFTER_BOOT_MS - clock.mono();
  if (pin_file !== undefined && left > 0 && isUnbound(agent)) await openByPin(page, { pin_file, for_ms: left, log });
  return page;
}

function isUnbound(agent: AgentControl): boolean {
  return agent.status().booths.every(({ provisioning }) => provisioning.generation === null);
}

/** The PIN of the file can't be used: that costs the opening, and the log says why. */
async function openByPin(
  { services }: OpenDoor,
  { pin_file, for_ms, log }: { readonly pin_file: string; readonly for_ms: number; readonly log: Logger },
): Promise<void> {
  try {
    const pin = readOwnSecret(pin_file);
    if (!LEAST_PIN.test(pin)) throw new Error(`${pin_file} holds no PIN of 8 digits or more`);
    const { lan } = await services.door.open({ for_ms, lan: true, pin });
    const urls = lan?.urls.join(", ") ?? "";
    log.warn(
      { event: "page_open", urls },
      `the page is open on the network at ${urls}, fingerprint ${lan?.fingerprint ?? ""}`,
    );
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    log.warn({ event: "page_closed", reason }, `the page isn't opened on the network: ${reason}`);
  }
}

async function certificateIn(dir: string): Promise<PageCertificate> {
  const fingerprint = await new Promise<string>((resolve, reject) => {
    const worker = new Worker(new URL("./certificate-worker.ts", import.meta.url), { workerData: { dir } });
    worker.once("message", resolve);
    worker.once("error", reject);
    worker.once("exit", () => reject(new Error(`no certificate could be made in ${dir}`)));
  });
  return {
    fingerprint,
    key: readFileSync(join(dir, "own.key"), "utf8"),
    cert: readFileSync(join(dir, "own.pem"), "utf8"),
  };
}
