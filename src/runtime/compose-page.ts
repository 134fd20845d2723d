import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { opcuaPki } from "../acquisition/opcua/pki.ts";
import { type AlwaysOpen, openPageListener, type OpenPageListener, type PageCertificate } from "../api/server.ts";
import { createKeptSessions, type SessionFile } from "../api/kept-sessions.ts";
import type { ScrapeListener } from "../api/scrape.ts";
import type { PlcTools } from "../acquisition/port.ts";
import type { PlcToolbox, PlcWish, Services, Workshop } from "../api/operation.ts";
import type { Config } from "../config/port.ts";
import type { ToolCall } from "../tools/plc-tools.ts";
import type { createWorkshop } from "./workshop.ts";
import { once } from "./service-ways.ts";
import type { PlcLogins } from "./plc-links.ts";
import { readPinFile, readTokenFile } from "../credential-files.ts";
import type { AgentControl, LinkSharer } from "../domain/agent-control.ts";
import type { Clock, Logger } from "../domain/machine.ts";
import { randomBytes } from "node:crypto";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { message } from "../domain/message.ts";
import { errorText } from "../domain/messages/message-error.ts";

/** Time after boot for which an unbound gateway with a PIN file opens its page on the network. */
const AFTER_BOOT_MS = 30 * 60_000;

type PageState = ReturnType<OpenPageListener["services"]["page"]["state"]>;

export interface PageSetting {
  readonly config: Config;
  /** Path of the file that `config` was read from. */
  readonly file: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly logins: Pick<PlcLogins, "passwords">;
  readonly services: Omit<Services, "sessions" | "page">;
}

/** Opens the page with its ports, its certificate, the PLC tools, and a folder for reports to support. */
export async function openPage({ config, file, clock, log, logins, services }: PageSetting): Promise<OpenPageListener> {
  const { port, lan_port, pin_file } = config.page;
  const certificate = () => certificateIn(join(config.data_dir, "page"), clock);
  const storeHelp = (report: string) => storeIn(join(config.data_dir, "help"), report);
  const plc = plcToolbox({ file, config }, { agent: services.control, clock, log, logins });
  const workshop = lateWorkshop(plc.only, { file, data_dir: config.data_dir, log, tools: plc.tools });
  const given = { ...services, storeHelp, plc: plc.box, workshop };
  const always = alwaysOpen({ config, file, clock });
  const figures = await openFigures({ config, log, control: services.control, certificate });
  const scraped = figures === null ? {} : { scraped: () => figures.state };
  const listener = await openPageListener({ port, lan_port, certificate, always, ...scraped }, given);
  const page = { ...listener, close: () => [figures, listener].forEach((one) => one?.close()) };
  const { url, trouble } = page.services.page.state();
  if (url === null) log.warn({ event: "page_closed", port }, trouble);
  else log.info({ event: "page", url }, `the page is at ${url}`);
  const isAlways = always.said.by_file ?? always.said.is_on();
  if (isAlways) {
    await openOnNetwork(log, "stays open", async () => {
      await page.services.page.keepOpen(true);
      return page.services.page.state();
    });
    return page;
  }
  const left = AFTER_BOOT_MS - clock.mono();
  const isUnbound = (): boolean =>
    services.control.status().booths.every(({ provisioning }) => provisioning.generation === null);
  if (pin_file !== undefined && left > 0 && isUnbound()) {
    await openOnNetwork(log, "is open", () =>
      page.services.page.open({ for_ms: left, lan: true, pin: readPinFile(pin_file) }),
    );
  }
  return page;
}

/** Opens the port for metrics scrapers on the network. Returns null if no port is configured. */
async function openFigures({
  config: { metrics },
  log,
  ...given
}: Pick<PageSetting, "config" | "log"> & {
  readonly control: AgentControl;
  readonly certificate: () => Promise<PageCertificate>;
}): Promise<ScrapeListener | null> {
  if (metrics === undefined) return null;
  const { openScrape } = await import("../api/scrape.ts");
  const { port, token_file } = metrics;
  const figures = await openScrape({ ...given, port, token: () => readTokenFile(token_file) });
  const { state } = figures;
  const text = message("scrape.closed", { reason: state.trouble });
  if (state.trouble === "")
    log.info({ event: "scraped", port: state.port }, `figures at port ${state.port}, with HTTPS and a token`);
  else log.error({ event: "not_scraped", port, reason: state.trouble }, text);
  return figures;
}

/** Opens the page on the network and logs its addresses. A failure, such as an unusable PIN file, is only logged. */
async function openOnNetwork(log: Logger, how: string, open: () => PageState | Promise<PageState>): Promise<void> {
  try {
    const { lan } = await open();
    const urls = lan?.urls.join(", ") ?? "";
    const text = `the page ${how} on the network at ${urls}, fingerprint ${lan?.fingerprint ?? ""}`;
    log.warn({ event: "page_open", urls }, text);
  } catch (error) {
    const reason = errorText(error);
    log.warn({ event: "page_closed", reason }, message("page.not_opened", { reason }));
  }
}

/** Stores devices' sessions, and whether the page stays open on the network, in the page's folder. */
function alwaysOpen({ config, file, clock }: Pick<PageSetting, "config" | "file" | "clock">): AlwaysOpen {
  const { network, pin_file } = config.page;
  const dir = join(config.data_dir, "page");
  const switched = ownFile(dir, "always-open");
  const sessions = ownFile(dir, "sessions.json");
  return {
    kept: createKeptSessions({ file: sessions, wall: () => clock.wall() }),
    said: {
      by_file: network === undefined ? null : network === "always",
      file,
      is_on: () => switched.read() === "yes\n",
      set: (on) => switched.write(on ? "yes\n" : "no\n"),
    },
    pin: () => (pin_file === undefined ? null : readPinFile(pin_file)),
  };
}

/** Returns a file of mode 0600 whose content is replaced atomically. */
function ownFile(dir: string, name: string): SessionFile {
  const path = join(dir, name);
  return {
    read: () => (existsSync(path) ? readFileSync(path, "utf8") : null),
    write(text) {
      mkdirSync(dir, { recursive: true, mode: 0o700 });
      writeFileSync(`${path}.new`, text, { mode: 0o600, flush: true });
      renameSync(`${path}.new`, path);
    },
  };
}

async function certificateIn(dir: string, clock: Clock): Promise<PageCertificate> {
  const { fingerprint } = await opcuaPki({ dir, wall: () => clock.wall() }).own();
  return {
    fingerprint,
    key: readFileSync(join(dir, "own.key"), "utf8"),
    cert: readFileSync(join(dir, "own.pem"), "utf8"),
  };
}

/** Loaders of the PLC tools. They run at first use, because few gateways need the tools after the first day. */
const TOOLS = {
  probe: async () => (await import("../tools/probe.ts")).probed,
  detect: async () => (await import("../tools/detect.ts")).detected,
};

/** Runs a PLC tool with the same code as the command line. */
async function actOn(
  tools: PlcTools,
  wish: PlcWish,
  { file, config, io }: Pick<PageSetting, "file" | "config"> & { readonly io: ToolCall["io"] },
) {
  switch (wish.tool) {
    case "find":
      return (await import("../tools/find-plc.ts")).findPlcs(tools, wish, io);
    case "rank":
      return (await import("../tools/rank-profiles.ts")).rankAt(wish, { tools, config, ...io });
    case "probe":
    case "detect": {
      const runTool = await TOOLS[wish.tool]();
      return runTool(tools, { values: { ...wish.values, config: file }, operands: [wish.operand], io });
    }
  }
}

/** Runs a task unless another one is running. Only one person at a time may use the PLC tools. */
type Only = <T>(task: () => Promise<T>) => Promise<T>;

/** Makes the command line's PLC tools available to the page. They share the agent's own link to a PLC if there is one. */
function plcToolbox(
  place: Pick<PageSetting, "file" | "config">,
  { agent, clock, log, logins }: Pick<PageSetting, "clock" | "log" | "logins"> & { readonly agent: AgentControl },
): { readonly box: PlcToolbox; readonly tools: () => Promise<PlcTools>; readonly only: Only } {
  let busy = false;
  const only: Only = async (task) => {
    if (busy) throw new Error("somebody else is looking at a PLC just now: wait until that is done");
    busy = true;
    return task().finally(() => (busy = false));
  };
  const tools = async (): Promise<PlcTools> => {
    const { driverTools } = await import("../acquisition/tool-drivers.ts");
    const sharer: LinkSharer = { links: agent.sharedLinks(), ask: (link, ask) => agent.askPlc(link, ask) };
    return driverTools({ wall: () => clock.wall(), log, sharer, passwords: logins.passwords });
  };
  const run: PlcToolbox["run"] = async (wish, io) => {
    const { tool } = wish;
    const operand = "operand" in wish ? wish.operand : "";
    log.info({ event: "plc_tool", tool, operand }, `${tool} ${operand}: asked for on the page`);
    const { answer, text } = await actOn(await tools(), wish, { ...place, io });
    return { answer, text };
  };
  return { box: { run: (wish, io) => only(() => run(wish, io)) }, tools, only };
}

/** Returns the profile workshop, whose code is loaded at first use. */
function lateWorkshop(only: Only, place: Parameters<typeof createWorkshop>[0]): Workshop {
  const made = once(async () => (await import("./workshop.ts")).createWorkshop(place));
  return {
    status: async () => (await made()).status(),
    keepList: async (name, bytes) => (await made()).keepList(name, bytes),
    answer: async (reply) => (await made()).answer(reply),
    run: (wish, io) => only(async () => (await made()).run(wish, io)),
  };
}

/** Maximum number of stored reports, so that they can't fill the disk. */
const MAX_REPORTS = 20;

/**
 * Stores a report for support in a file of mode 0600, whose name sorts by time. Deletes the oldest reports. Returns the new report's id.
 */
async function storeIn(dir: string, report: string): Promise<string> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const kept = (await readdir(dir)).sort();
  const surplus = kept.slice(0, Math.max(0, kept.length - MAX_REPORTS + 1));
  await Promise.all(surplus.map((name) => rm(join(dir, name))));
  const id = `${new Date().toISOString().replaceAll(/[:.]/g, "-")}-${randomBytes(3).toString("hex")}`;
  await writeFile(join(dir, `${id}.json`), report, { mode: 0o600 });
  return id;
}
