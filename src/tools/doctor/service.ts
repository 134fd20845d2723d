import { bad, ok, warn, type Finding } from "./finding.ts";
import type { Reached, Target } from "./reach.ts";

/** More than that between the box's clock and the server's: certificates and time stamps suffer. */
const MAX_CLOCK_OFF_MS = 120_000;
const SOON_MS = 30 * 86_400_000;
const DAY_MS = 86_400_000;

const PORTS: Readonly<Record<string, number>> = {
  "https:": 443,
  "http:": 80,
  "mqtts:": 8883,
  "mqtt:": 1883,
  "wss:": 443,
  "ws:": 80,
};

/** Where a URL of the configuration leads; http: whether to ask for something there. */
export function targetOf(url: string, ca: string | undefined): Target {
  const { protocol, hostname, port } = new URL(url);
  return {
    host: hostname.replace(/^\[|\]$/g, ""),
    port: port === "" ? (PORTS[protocol] ?? 443) : Number(port),
    tls: protocol === "https:" || protocol === "mqtts:" || protocol === "wss:",
    http: protocol === "https:" || protocol === "http:",
    ...(ca === undefined ? {} : { ca }),
  };
}

/** What came of the way to a server, in words, with what to do. Pure. `checks_clock`: the box's clock is real time. */
export function serverFindings(
  what: string,
  { target, reached }: { readonly target: Target; readonly reached: Reached },
  { now, checks_clock }: { readonly now: number; readonly checks_clock: boolean },
): readonly Finding[] {
  const at = `${target.host}:${target.port.toString()}`;
  if (reached.kind === "failed") {
    const { step, code, reason } = reached;
    // Up to the proxy, where there is one, the way is the proxy's.
    const { host, port } = step === "DNS" || step === "TCP" ? (target.proxy ?? target) : target;
    const todo = adviceFor({ step, code }, host, `${host}:${port.toString()}`);
    return [bad(what, `${step} fails: ${reason}`, todo)];
  }
  const steps = ["DNS", "TCP", ...(target.tls ? ["TLS"] : []), ...(target.http ? ["HTTP"] : [])].join(", ");
  const findings: Finding[] = [ok(what, `${at} (${reached.address}): ${steps} are well`)];
  if (reached.certificate_ends !== null) {
    findings.push(certificateFinding(`certificate of ${target.host}`, reached.certificate_ends, now));
  }
  const off = reached.server_time === null ? 0 : reached.server_time - now;
  if (checks_clock && Math.abs(off) > MAX_CLOCK_OFF_MS) {
    const said = `${at} says it is ${new Date(now + off).toISOString()}, this box ${new Date(now).toISOString()}`;
    findings.push(warn("clock of the box", said, "switch time synchronisation on: timedatectl set-ntp true"));
  }
  return findings;
}

function certificateFinding(what: string, ends: number, now: number): Finding {
  const days = Math.floor((ends - now) / DAY_MS);
  const said = `ends in ${days.toString()} days, on ${new Date(ends).toISOString().slice(0, 10)}`;
  if (ends - now > SOON_MS) return ok(what, said);
  return warn(what, said, `tell whoever runs the service that its certificate ends soon (${what})`);
}

function adviceFor({ step, code }: { step: string; code: string }, host: string, at: string): string {
  switch (step) {
    case "DNS":
      return code === "ENOTFOUND"
        ? `check the name ${host} in the configuration, and the box's name servers (resolvectl status)`
        : `check the box's uplink and name servers (ip route, resolvectl status): ${host} can't be looked up`;
    case "TCP":
      return code === "ECONNREFUSED"
        ? `check the port in the configuration: nothing listens at ${at}, or a firewall refuses it`
        : `let outgoing TCP to ${at} through the firewall, and check the box's uplink (ip route)`;
    case "proxy":
      return `check service.proxy_url in the configuration, and that the proxy lets this box through to ${at}`;
    case "TLS":
      return tlsAdvice(code, at);
    default:
      return `${at} takes connections but doesn't answer: check what stands between (proxy, load balancer), then ask whoever runs the service`;
  }
}

function tlsAdvice(code: string, at: string): string {
  if (code === "CERT_HAS_EXPIRED")
    return `check the box's clock (timedatectl); if it is right, the certificate of ${at} has ended`;
  if (code === "CERT_NOT_YET_VALID")
    return `check the box's clock (timedatectl): for it the certificate of ${at} isn't valid yet`;
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID")
    return `check the name in the configuration: the certificate of ${at} is another one's`;
  if (/SELF_SIGNED|UNABLE_TO|ISSUER/.test(code)) {
    return `give the authority that signed the certificate of ${at} with service.ca_file; or somebody listens in between`;
  }
  return `check that ${at} speaks TLS 1.2 or later, and that nothing in between breaks it`;
}
