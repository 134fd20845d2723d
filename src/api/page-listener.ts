import { hostname, networkInterfaces } from "node:os";
import type { PageState } from "./port.ts";
import type { AgentControl } from "../domain/agent-control.ts";
import { createSessions } from "./sessions.ts";
import { serveLan, serveLoopback, type Listener } from "./server.ts";
import type { MoreServices, PageListener, Services } from "./services.ts";

/** The box's own certificate for its page. */
export interface PageCertificate {
  readonly key: string;
  readonly cert: string;
  /** SHA-256, in pairs. */
  readonly fingerprint: string;
}

export interface PageListenerOptions {
  /** On loopback; 0: any free one. */
  readonly port: number;
  /** On the network; 0: any free one. */
  readonly lan_port: number;
  readonly certificate: () => Promise<PageCertificate>;
}

/** The page's listeners, with the services that they need to let people in. */
export interface OpenPageListener {
  readonly services: Services & { readonly door: PageListener };
  close(): void;
}

interface Lan {
  readonly listener: Listener;
  readonly fingerprint: string;
  readonly until: number;
  readonly timer: NodeJS.Timeout;
}

/**
 * Serves the page on loopback; a port that is taken costs the page and nothing else, `state().trouble` says so. On the
 * network it stands open only between `open` and the end of its time.
 */
export async function openPageListener(
  { port, lan_port, certificate }: PageListenerOptions,
  control: AgentControl,
  more: MoreServices,
): Promise<OpenPageListener> {
  const mono = (): number => performance.now();
  const desk = createSessions(mono);
  let lan: Lan | null = null;
  let [loopback, trouble]: [Listener | null, string] = [null, ""];
  const closeLan = (): void => {
    if (lan === null) return;
    clearTimeout(lan.timer);
    lan.listener.close();
    lan = null;
  };
  const state = (): PageState => ({
    url: loopback === null ? null : `http://127.0.0.1:${loopback.port.toString()}`,
    trouble,
    lan: lan === null ? null : lanState(lan, mono()),
    pin_for_ms: desk.left_ms(),
  });
  const door: PageListener = {
    state,
    async open(how) {
      closeLan();
      if (how.lan) {
        const { fingerprint, ...pems } = await certificate();
        const listener = await serveLan({ port: lan_port, ...pems, own_names: ownNames }, services);
        const timer = setTimeout(() => {
          closeLan();
          desk.close();
        }, how.for_ms).unref();
        lan = { listener, fingerprint, until: mono() + how.for_ms, timer };
      }
      return { pin: desk.open(how.for_ms, how.pin), ...state() };
    },
    close() {
      closeLan();
      desk.close();
    },
  };
  const services = { ...more, control, desk, door };
  try {
    loopback = await serveLoopback(port, services);
  } catch (error) {
    trouble = `the page can't be served on port ${port.toString()}: ${error instanceof Error ? error.message : String(error)}; choose another page.port`;
  }
  return {
    services,
    close() {
      door.close();
      loopback?.close();
    },
  };
}

function lanState({ listener, fingerprint, until }: Lan, now: number): NonNullable<PageState["lan"]> {
  const urls = addresses().map((address) => `https://${address}:${listener.port.toString()}`);
  return { urls, port: listener.port, fingerprint, for_ms: Math.max(0, until - now) };
}

/** Of IPv4: what people can type. */
function addresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((entries = []) =>
    entries.filter(({ family, internal }) => family === "IPv4" && !internal).map(({ address }) => address),
  );
}

function ownNames(): ReadonlySet<string> {
  const all = Object.values(networkInterfaces()).flatMap((entries = []) => entries.map(({ address }) => address));
  const name = hostname().toLowerCase();
  return new Set([...all, name, `${name}.local`]);
}
