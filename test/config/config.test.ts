import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

import { ConfigError } from "../../src/config/config-error.ts";
import { loadConfig, parseConfig } from "../../src/config/config.ts";
import { findProfile, SHIPPED_PROFILES } from "../../src/config/profile.ts";
import { jsonSchemas } from "../../src/config/schemas.ts";
import { parametersOf, unknownGroups } from "../../src/config/parameters.ts";
import type { BoothConfig } from "../../src/config/port.ts";
import { render } from "../../src/domain/messages/render.ts";
import { inspectConfig, verdictOn } from "../../src/config/usable.ts";

const EXAMPLE = fileURLToPath(new URL("../../config/gateway.example.yaml", import.meta.url));
const SMALL = `service: { url: "https://service.example/" }
booths:
  - id: booth-1
    serial: " abcd-123 "
    profile: click-booth
    modbus: { host: plc-1.local }
`;

function refusal(text: string): ConfigError {
  try {
    parseConfig(text, "gateway.yaml");
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error("it was accepted");
}

function booth(more = ""): BoothConfig {
  const [first] = parseConfig(SMALL + more, "gateway.yaml").booths;
  if (first === undefined) throw new Error("no booth");
  return first;
}

describe("the gateway configuration", () => {
  test("gets defaults, a normalized serial number and a service URL without a trailing slash", () => {
    expect(parseConfig(SMALL, "/etc/gateway.yaml")).toEqual({
      data_dir: "/var/lib/booth-gateway",
      page: { port: 8470, lan_port: 8443 },
      runtime_dir: "/run/booth-gateway",
      store: { max_bytes: 64_000_000, max_age_days: 30 },
      retention: { records_years: 5 },
      profile_dirs: ["/etc/profiles", "/var/lib/booth-gateway/profiles", SHIPPED_PROFILES],
      log_level: "info",
      commit_interval_ms: 10_000,
      heartbeat_interval_ms: 60_000,
      service: { url: "https://service.example" },
      booths: [
        {
          id: "booth-1",
          serial: "ABCD-123",
          profile: "click-booth",
          modbus: { host: "plc-1.local", port: 502 },
          poll: {},
          bay_count: 1,
          filters: {},
          tz: "UTC",
          working_hours: [],
        },
      ],
      outputs: [],
      notices: [],
    });
  });

  test("resolves relative paths from the folder of the configuration file", () => {
    const text = `data_dir: data\nclock_file: clock\nprofile_dirs: [p]\n${SMALL.replace('/" }', '/", ca_file: ca.pem }')}`;
    expect(parseConfig(text, "/srv/x/gateway.yaml")).toMatchObject({
      data_dir: "/srv/x/data",
      clock_file: "/srv/x/clock",
      profile_dirs: ["/srv/x/p", "/srv/x/data/profiles", SHIPPED_PROFILES],
      service: { ca_file: "/srv/x/ca.pem" },
    });
  });

  test("has only absolute paths after parsing, except for a serial port", () => {
    const text = `{ data_dir: ./it, runtime_dir: ./it, clock_file: ./it, profile_dirs: [./it], page: { pin_file: ./it },
      service: { url: "https://service.example", ca_file: ./it, api_key_file: ./it,
        client_certificate_file: ./it, client_key_file: ./it },
      booths: [
        { id: a, profile: p, opcua: { endpoint: "opc.tcp://plc", user: u, password_file: ./it, server_certificate_file: ./it } },
        { id: b, profile: p, opcua: { endpoint: "opc.tcp://plc", user_certificate_file: ./it, user_key_file: ./it } },
        { id: c, profile: p, modbus: { serial: { path: ./it } } } ],
      outputs: [ { name: o, url: "mqtts://plant.example", user: u, password_file: ./it, ca_file: ./it,
        client_certificate_file: ./it, client_key_file: ./it, mqtt: {} },
        { name: m, url: "https://plant.example", token_file: ./it, otlp: {} } ],
      metrics: { token_file: ./it },
      notices: [ { name: m, mail: { host: h, from: a@b.c, to: [a@b.c], user: u, password_file: ./it, ca_file: ./it } },
        { name: w, webhook: { url: "https://w.example", secret_file: ./it, ca_file: ./it } },
        { name: q, mqtt: { url: "mqtts://q.example", user: u, password_file: ./it, ca_file: ./it } } ] }`;
    const known = jsonSchemas()["gateway.schema.json"]?.match(/"maxLength": 4096/g);
    expect(text.match(/\.\/it/g)).toHaveLength(known?.length ?? 0);
    const { booths, ...config } = parseConfig(text, "/srv/x/gateway.yaml");
    expect(JSON.stringify([config, booths.slice(0, 2)])).not.toContain("./it");
    expect(booths[2]?.modbus).toMatchObject({ serial: { path: "./it" } });
  });

  test("loads from the example file, and the profile and poll groups named there exist", () => {
    const config = loadConfig(EXAMPLE);
    expect(verdictOn(inspectConfig(EXAMPLE))).toBeNull();
    for (const each of config.booths) expect(unknownGroups(findProfile(each.profile), each)).toEqual([]);
    expect(config.booths[0]?.working_hours[0]).toEqual({
      day: "monday",
      enabled: true,
      start: "07:00:00",
      stop: "17:30:00",
    });
  });

  const services = ["http://127.0.0.1:8080", "http://localhost", "http://[::1]:1", "https://service.example/base"];
  test.each(services)("accepts %s as the service's URL", (url) => {
    expect(parseConfig(SMALL.replace("https://service.example/", url), "g.yaml").service.url).toBe(url);
  });

  test.each([
    ["http://service.example", /not encrypted and is only allowed for addresses of this machine/],
    ["http://127.0.0.1.example.com", /not encrypted/],
    ["http://localhost.example.com", /not encrypted/],
    ["ftp://service.example", /must start with one of https:/],
    ["service.example", /not a URL/],
    ["https://user:secret@service.example", /must not contain a user name or password/],
    ["https://service.example?key=secret", /must not have a query/],
  ])("rejects %s as the service's URL, and does not show a secret in the error", (url, message) => {
    const text = refusal(SMALL.replace("https://service.example/", url)).problems[0]?.message ?? "";
    expect(render(text)).toMatch(message);
    expect(JSON.stringify(text)).not.toContain("secret");
  });

  test.each([
    ["mqtts://broker.example", true],
    ["wss://broker.example/mqtt", true],
    ["mqtt://127.0.0.1:1883", true],
    ["mqtt://broker.example", false],
    ["ws://broker.example", false],
    ["https://broker.example", false],
  ])("accepts or rejects the broker's URL %s (accepted: %s)", (url, fine) => {
    const text = SMALL.replace('/" }', `/", mqtt_url: "${url}" }`);
    if (fine) expect(parseConfig(text, "g.yaml").service.mqtt_url).toBe(url);
    else expect(refusal(text).problems[0]?.path).toBe("service.mqtt_url");
  });

  const hours = '    working_hours: [{ day: monday, start: "25:00", stop: "06:00" }]\n    profile:';
  test.each([
    ["booths:", "boots:", /2:1: boots: unknown key "boots" \(did you mean "booths"/],
    ["    profile:", "    profil:", /did you mean "profile"/],
    ['" abcd-123 "', '"ab cd"', /letters, digits and single dashes/],
    ["plc-1.local", "http://plc", /without port or scheme/],
    ['/" }', '/", api_key_file: a, api_key_credential: b }', /not both/],
    ["    profile:", "    tz: America/Denvr\n    profile:", /did you mean "America\/Denver"/],
    ["    profile:", hours, /a time of day is HH:MM/],
  ])("is rejected if %j is replaced by %j: %s", (from, to, message) => {
    expect(SMALL).toContain(from);
    expect(refusal(SMALL.replace(from, to)).message).toMatch(message);
  });

  test("is rejected if two booths have the same id or serial number", () => {
    const second = SMALL.slice(SMALL.indexOf("  - id"));
    const paths = refusal(SMALL + second).problems.map(({ path }) => path);
    expect(paths).toEqual(["booths[1].id", "booths[1].serial"]);
  });

  test("has up-to-date JSON Schemas in config/schemas (run npm run schemas if this fails)", () => {
    for (const [file, text] of Object.entries(jsonSchemas())) {
      expect(readFileSync(new URL(`../../config/schemas/${file}`, import.meta.url), "utf8")).toBe(text);
    }
  });
});

describe("parametersOf", () => {
  const profile = findProfile("click-booth");

  test("returns the profile's parameters for a booth that has no settings", () => {
    const parameters = parametersOf(profile, booth());
    expect(parameters.groups).toEqual({ fast: { poll_interval_ms: 1000 }, slow: { poll_interval_ms: 10_000 } });
    expect(parameters.filters).toEqual(profile.filters);
    expect(parameters.tags["gas"]).toEqual({
      role: "gas",
      bay: 0,
      unit: "therm",
      factor: 1,
      group: "slow",
      deadband: 0,
      heartbeat_ms: 900_000,
      counter: { step: 0.01, modulus: 42_949_672.96, max_rate_per_h: 11, retained: true },
    });
    expect(JSON.parse(JSON.stringify(parameters))).toEqual(parameters);
  });

  test("applies a booth's limits and poll groups one by one, and recomputes the mode sets derived from changed mode sets", () => {
    const parameters = parametersOf(
      profile,
      booth(`    poll: { fast: { poll_interval_ms: 500 } }
    filters: { exhaust_filter: { limits: { minutes: 100 } } }
    mode_sets: { in_use: [spray] }
    min_stage_ms: 3000
    burner_size_btu_h: 5
`),
    );
    expect(parameters.groups).toEqual({ fast: { poll_interval_ms: 500 }, slow: { poll_interval_ms: 10_000 } });
    expect(parameters.filters.exhaust_filter).toEqual({ limits: { minutes: 100, pressure_pa: 125 } });
    expect(parameters.filters.pre_filter).toEqual({ limits: { minutes: 18_000 } });
    expect(parameters.mode_sets).toEqual({
      in_use: ["spray"],
      run: ["spray", "cool_down"],
      runtime: ["spray", "cool_down"],
    });
    expect(parameters).toMatchObject({ min_stage_ms: 3000, burner_size_btu_h: 5 });
  });
});

describe("the configured link to a PLC", () => {
  const reached = (modbus: string): unknown =>
    parseConfig(SMALL.replace("{ host: plc-1.local }", modbus), "gateway.yaml").booths[0]?.modbus;

  test("may be Modbus TCP, RTU over TCP, or a serial line, which has the Modbus specification's default settings", () => {
    expect(reached("{ host: a, unit_id: 7 }")).toEqual({ host: "a", port: 502, unit_id: 7 });
    expect(reached("{ host: a, port: 4001, framing: rtu }")).toEqual({ host: "a", port: 4001, framing: "rtu" });
    const serial = { path: "/dev/ttyUSB0", baud_rate: 19_200, data_bits: 8, parity: "even", stop_bits: 1 };
    expect(reached("{ serial: { path: /dev/ttyUSB0 }, unit_id: 2 }")).toEqual({ serial, unit_id: 2 });
    expect(reached("{ serial: { path: /dev/ttyUSB0, baud_rate: 9600, parity: none } }")).toEqual({
      serial: { ...serial, baud_rate: 9600, parity: "none" },
    });
  });

  test.each([
    ["{}", /set host \(and port\), or serial/],
    ["{ host: a, serial: { path: /dev/x } }", /set host or serial, not both/],
    ["{ port: 1, serial: { path: /dev/x } }", /set host or serial, not both/],
    ["{ serial: { path: /dev/x }, framing: rtu }", /a serial line always uses RTU framing/],
    ["{ serial: { path: /dev/x, baud_rate: 12345 } }", /baud_rate/],
    ["{ host: 'a:502' , framing: ascii }", /framing/],
    ["{ serial: { path: /dev/x }, answer_unit_id: 0 }", /this setting is only for Modbus TCP/],
    ["{ host: a, framing: rtu, transaction_id_offset: 1 }", /this setting is only for Modbus TCP/],
    ["{ host: a, transaction_id_offset: 2 }", /transaction_id_offset/],
  ])("is rejected if it is %s: %s", (modbus, message) => {
    expect(refusal(SMALL.replace("{ host: plc-1.local }", modbus)).message).toMatch(message);
  });

  test("is rejected if two booths share one connection with different settings", () => {
    const two = (first: string, second: string): string =>
      `${SMALL.replace("{ host: plc-1.local }", first)}  - { id: booth-2, profile: click-booth, modbus: ${second} }\n`;
    const serial = "{ serial: { path: /dev/x }, unit_id: 1 }";
    expect(parseConfig(two(serial, serial.replace("1 }", "2 }")), "g.yaml").booths).toHaveLength(2);
    expect(refusal(two(serial, "{ serial: { path: /dev/x, baud_rate: 9600 } }")).message).toMatch(
      /booth "booth-1" uses the same connection with other settings/,
    );
    expect(refusal(two("{ host: a }", "{ host: a, framing: rtu }")).message).toMatch(/same connection/);
    expect(refusal(two("{ host: a }", "{ host: a, answer_unit_id: 0 }")).message).toMatch(/same connection/);
  });
});
