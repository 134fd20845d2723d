// Needs Debian packages: mosquitto, postgresql-15, haproxy, openssl, curl, systemd-container.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { stringify } from "yaml";
import { serialOf } from "../../simulators/fleet/fleet.ts";
import { eventually } from "../support/eventually.ts";
import { GATEWAY, SIMULATORS } from "../support/processes.ts";
import { bootContainer, type Container } from "../system/container.ts";
import { packageOf, putPackage } from "../system/packaged-site.ts";

/** Executes the operator's how-to page in a container with Debian's packages, and connects gateways. */

const ROOT = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
const PAGE = fileURLToPath(new URL("../../docs/service/install.md", import.meta.url));
const GATEWAYS = 200;
const SERIAL = "ABCD-123-123";
/** Servers of this machine that the page doesn't use. */
const MASKED = [
  "rabbitmq-server.service",
  "nats-server.service",
  "prometheus.service",
  "prometheus-node-exporter.service",
];

/** Returns the lines of all shell commands of the page. */
function commandsOf(page: string): string {
  return Array.from(readFileSync(page, "utf8").matchAll(/^```sh\n(.*?)^```$/gms), ([, lines]) => lines).join("");
}

function psql(container: Container, sql: string): string {
  return container.sh(`cd / && runuser -u postgres -- psql -XAtq booth -c "${sql}"`).trim();
}

/** Starts a program of this repository in the container, with the certificates that an installed program would have. */
function start(container: Container, name: string, line: string): void {
  const env = "NODE_EXTRA_CA_CERTS=/etc/booth-service/ca.pem";
  container.sh(`cd /root && (${env} setsid ${process.execPath} ${line} > /root/${name}.log 2>&1 < /dev/null &)`);
}

it("the service's installation page, executed line by line, connects 200 gateways and a real agent with their own credentials", async () => {
  const container = await bootContainer({ masked: MASKED, shared: ROOT });
  onTestFinished(() => container.end());
  putPackage(container, packageOf("0.0.1", "booth-service"));
  const put = (name: string, text: string): void => writeFileSync(container.inside(`/root/${name}`), text);
  put("facilities.csv", "name,tz,city\nNorth shop,America/Denver,Denver\n");
  const serials = [SERIAL, ...Array.from({ length: GATEWAYS }, (_, nth) => serialOf(nth))];
  put("booths.csv", `facility,serial_number\n${serials.map((serial) => `North shop,${serial}\n`).join("")}`);
  // Keeps the page's variables and functions for its last commands.
  const keep =
    "declare -px PGPASSFILE > /root/kept; declare -p store service admin >> /root/kept; declare -f ask rotate revoke >> /root/kept";
  put("page.sh", `set -eux\ncd /root\n${commandsOf(PAGE)}${keep}\n`);
  const { code, out } = container.try(
    "HOME=/root bash /root/page.sh > /root/page.log 2>&1; code=$?; tail -n 25 /root/page.log; exit $code",
  );
  expect(code, out).toBe(0);

  start(container, "plc", `${SIMULATORS} plc --modbus-port 5502`);
  put(
    "gateway.yaml",
    stringify({
      data_dir: "/root/gateway",
      runtime_dir: "/root/run",
      page: { port: 0, lan_port: 0 },
      commit_interval_ms: 1_000,
      heartbeat_interval_ms: 10_000,
      service: {
        url: "https://monitoring.example.com:8443",
        ca_file: "/etc/booth-service/ca.pem",
        api_key_file: "/root/first-key",
      },
      booths: [
        {
          id: "booth-1",
          serial: SERIAL,
          profile: "click-booth",
          modbus: { host: "127.0.0.1", port: 5502 },
          tz: "America/Denver",
        },
      ],
    }),
  );
  container.sh("mkdir -m 700 /root/gateway /root/run");
  start(container, "agent", `${GATEWAY} run --config /root/gateway.yaml`);
  const key = container.sh("cat /etc/booth-service/secrets/admin-key").trim();
  const fleet = `--gateways ${String(GATEWAYS)} --calm --minutes 5 --service https://monitoring.example.com:8443 --key ${key}`;
  start(container, "fleet", `${SIMULATORS} fleet ${fleet}`);
  const log = (name: string): string => container.try(`tail -n 12 /root/${name}.log`).out;
  const online = await eventually(
    "all gateways are online",
    () =>
      Number(psql(container, "SELECT count(*) FROM gateways WHERE online = 1")) === GATEWAYS + 1 ? true : undefined,
    60_000,
  ).catch((error: unknown) => {
    throw new Error(
      [log("fleet"), log("agent"), log("plc"), container.sh("journalctl -n 30 --no-pager -u 'booth-*'")].join("\n--\n"),
      { cause: error },
    );
  });
  expect(online).toBe(true);

  const agent = psql(
    container,
    "SELECT gateway_id FROM provisionings p JOIN booths b ON b.id = p.booth_id WHERE serial_number = 'ABCD-123-123'",
  );
  const one = psql(container, "SELECT min(id) FROM gateways WHERE id LIKE 'fleet-%'");
  const keysOf = (id: string): string =>
    psql(container, `SELECT string_agg(hash, ' ' ORDER BY hash) FROM api_keys WHERE gateway_id = '${id}'`);
  const before = keysOf(agent);
  const run = (line: string): string => container.sh(`bash -ec '. /root/kept; ${line}'`);
  run(`rotate ${agent}`);
  run(`revoke ${one}`);
  const journal = (): string =>
    container.sh(`journalctl -o cat --no-pager -u "booth-broker@*" | grep -F "${one}" | tail -n 5 || true`);
  await eventually(
    "the broker disconnects the revoked gateway",
    () => (/disconnected|not authori[sz]ed/.test(journal()) ? true : undefined),
    60_000,
  ).catch((error: unknown) => {
    const keys = psql(container, `SELECT id, name, revoked_at FROM api_keys WHERE gateway_id = '${one}'`);
    throw new Error(
      `${keys}\n${journal()}\n${container.sh("journalctl -n 12 -o cat --no-pager -u 'booth-broker-users@*'")}`,
      { cause: error },
    );
  });
  await eventually(
    "the agent has a new credential and a session with it",
    () => {
      const state = psql(container, "SELECT state FROM commands WHERE type = 'rotate_key'");
      return state === "done" && psql(container, `SELECT online FROM gateways WHERE id = '${agent}'`) === "1"
        ? true
        : undefined;
    },
    90_000,
  ).catch((error: unknown) => {
    throw new Error(log("agent"), { cause: error });
  });
  expect(keysOf(agent)).not.toBe(before);
}, 180_000);
