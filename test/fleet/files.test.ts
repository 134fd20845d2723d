import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { serviceCommand } from "../../simulators/service/cli.ts";
import { ROLES } from "../../simulators/service/roles.ts";

const textOf = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

/** Returns the answer of `booth-sim service` to these arguments, without starting the service. */
async function saidOf(argv: readonly string[]): Promise<string> {
  const said: string[] = [];
  const io = {
    out: () => undefined,
    err: (line: string) => void said.push(line),
    signal: new AbortController().signal,
  };
  const code = await serviceCommand([...argv, "--help"], io);
  return `${code} ${said.join()}`.trim();
}

/** All options of the page docs/service/install.md that an operator may set for a role. */
const SETTINGS = new Map([
  ["HTTP_OPTIONS", "--trust-proxy 10.0.0.0/8 --public-url https://monitoring.example.com:8443"],
  [
    "FIGURES_OPTIONS",
    "--public-url https://monitoring.example.com:8443 --smtp smtp://user@mail.example.com:587 --mail-from booths@example.com",
  ],
]);

const filledWith = (text: string, settings: ReadonlyMap<string, string>): string =>
  text.replace(/\$\{?([A-Z_]+)(?::-)?\}?/g, (_, variable: string) => settings.get(variable) ?? "?");

const wordsOf = (text: string): string[] => text.split(" ").filter((word) => word !== "");

interface Compose {
  readonly services: Readonly<
    Record<
      string,
      { image?: string; command?: string | string[]; depends_on?: string[]; secrets?: string[]; volumes?: string[] }
    >
  >;
  readonly secrets: Readonly<Record<string, unknown>>;
}

describe("the configuration files of a fleet service on several machines", () => {
  it("contain a compose.yaml that starts each role with valid arguments and refers only to existing files and services", async () => {
    const text = textOf("config/fleet/compose.yaml");
    const { services, secrets } = parse(text, { merge: true }) as Compose;
    const own = Object.values(services).filter(({ image }) => image === undefined);
    const roles = own.flatMap(({ command }) => (typeof command === "string" ? [command] : []));
    for (const command of roles) {
      const unset = new Map(Array.from(SETTINGS.keys(), (name) => [name, ""]));
      for (const settings of [unset, SETTINGS])
        expect(await saidOf(wordsOf(filledWith(command, settings))), command).toBe("0");
    }
    expect(services["http-1"]?.command).toContain("${HTTP_OPTIONS:-}");
    expect(services["figures"]?.command).toContain("${FIGURES_OPTIONS:-}");
    const started = roles.map((command) => /^(?:--role )?(\w+)/.exec(command)?.[1]);
    expect(new Set(started)).toEqual(new Set([...ROLES, "brokers"]));
    for (const [name, service] of Object.entries(services)) {
      for (const needed of service.depends_on ?? []) expect(services, `${name} needs ${needed}`).toHaveProperty(needed);
      for (const secret of service.secrets ?? []) expect(Object.keys(secrets), name).toContain(secret);
      for (const volume of service.volumes ?? []) {
        const [from = ""] = volume.split(":");
        if (from.startsWith("./") && !from.startsWith("./secrets/")) textOf(`config/fleet/${from}`);
      }
    }
  });

  it("contain systemd units that start each role with valid arguments under the example settings", async () => {
    const env = new Map(
      textOf("systemd/fleet/service.env")
        .split("\n")
        .filter((line) => /^[A-Z_]+=/.test(line))
        .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
    );
    for (const [name, does] of [
      ...ROLES.map((role) => [`service-${role}`, `--role ${role}`] as const),
      ["broker-users", "brokers "] as const,
    ]) {
      const unit = textOf(`systemd/fleet/booth-${name}@.service`);
      const start = /^ExecStart=\/usr\/lib\/booth-service\/booth-service (.*)$/m.exec(unit)?.[1] ?? "";
      for (const settings of [env, new Map([...env, ...SETTINGS])]) {
        const filled = filledWith(start.replaceAll("%i", "1"), settings);
        expect(filled).toContain(does);
        expect(await saidOf(wordsOf(filled)), filled).toBe("0");
      }
      const options = `${name.replace("service-", "").toUpperCase()}_OPTIONS`;
      if (SETTINGS.has(options)) expect(start).toContain(`$${options}`);
    }
  });

  it("are checked by a command that rejects wrong arguments", async () => {
    expect(await saidOf(["--role", "ingest", "--store", "postgres://x/y"])).toMatch(/^2 --role ingest needs --broker/);
    expect(await saidOf(["--role", "http"])).toMatch(/^2 --role http needs --store/);
    expect(await saidOf(["--role", "http", "--store", "./data"])).toMatch(/^2 --store must be a postgres:/);
    const role = (name: string, ...more: readonly string[]): Promise<string> =>
      saidOf(["--role", name, "--store", "postgres://x/y", ...more]);
    for (const name of ["--serial", "--api-key", "--admin-key", "--seed"]) {
      const told = `2 --role figures doesn't use ${name}: prepare the database with booth-sim service init and import`;
      expect(await role("figures", `${name}=demo`)).toBe(`${told} (see --help)`);
    }
    expect(await role("figures", "--broker", "mqtt://x")).toMatch(
      /^2 --role figures doesn't use --broker: leave it out/,
    );
    expect(await role("ingest", "--broker", "mqtt://x", "--port", "1")).toMatch(/^2 --role ingest doesn't use --port/);
    expect(await role("http", "--broker", "mqtt://x", "--plain")).toMatch(/^2 --role http doesn't use --plain/);
    expect(await saidOf(["--vitals-port", "9090"])).toMatch(/^2 --role all doesn't use --vitals-port/);
    expect(await saidOf(["--keep-days", "3"])).toMatch(/^2 --keep-days needs --store/);
    for (const proxy of ["10.0.0.300", "10.0.0.0/33", "proxy.example.com", "::/129"])
      expect(await saidOf(["--trust-proxy", proxy])).toMatch(/^2 --trust-proxy must be an IP address or a network/);
    expect(await saidOf(["--trust-proxy", "10.0.0.0/8", "--trust-proxy", "2001:db8::/32"])).toBe("0");
    expect(await saidOf(["--role", "worker"])).toMatch(/^2 --role must be one of all, http, ingest, figures/);
  });
});
