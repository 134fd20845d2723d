import { expect, test } from "vitest";
import { ConfigError } from "../../src/config/config-error.ts";
import { parseConfig } from "../../src/config/config.ts";
import { inspectText } from "../../src/config/usable.ts";
import { examplesIn } from "../support/doc-examples.ts";

const BOOTHS = `booths:
  - { id: booth-1, profile: click-booth, modbus: { host: 127.0.0.1 } }
`;

function refused(output: string): readonly string[] {
  try {
    parseConfig(`${BOOTHS}outputs:\n  - ${output}\n`, "/srv/gateway.yaml");
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map(({ message }) => message);
    throw error;
  }
}

test("an output is taken as it is meant, with its defaults", () => {
  const text = `${BOOTHS}outputs: [{ name: plant, url: "mqtts://plant.example", mqtt: {} }]`;
  expect(parseConfig(text, "/srv/gateway.yaml").outputs).toEqual([
    {
      name: "plant",
      url: "mqtts://plant.example",
      mqtt_version: "v5",
      max_records_per_s: 2_000,
      mqtt: {
        topics: {
          tag: "booths/{booth}/tags/{tag}",
          figure: "booths/{booth}/figures/{figure}",
          status: "booths/{gateway}/status",
        },
        payload: "json",
        retain: true,
        history: true,
      },
    },
  ]);
});

test.each([
  ["{ name: a, url: mqtt://plant.example, mqtt: {} }", "unprotected"],
  ["{ name: a, url: mqtts://u:p@plant.example, mqtt: {} }", "user name or password"],
  ["{ name: a, url: https://plant.example, mqtt: {} }", "must begin with"],
  ["{ name: a, url: mqtts://plant.example }", "needs one of mqtt, sparkplug, otlp"],
  ["{ name: a, url: mqtts://plant.example, mqtt: {}, sparkplug: { group_id: g } }", "needs one of"],
  ["{ name: a, url: mqtts://plant.example, mqtt: {}, otlp: {} }", "needs one of"],
  ["{ name: a, url: mqtts://plant.example, mqtt: {}, token_file: t }", "token_file means nothing to mqtt"],
  ["{ name: a, url: mqtts://plant.example, otlp: {} }", "must begin with"],
  ["{ name: a, url: http://plant.example, otlp: {} }", "unprotected"],
  ["{ name: a, url: https://plant.example, otlp: {}, client_id: x }", "client_id means nothing to otlp"],
  ["{ name: a, url: https://plant.example, otlp: {}, user: u, token_file: t }", "token_file or user, not both"],
  ["{ name: a, url: https://plant.example, otlp: { interval_ms: 5 } }", "at least 10000"],
  ["{ name: a, url: mqtts://plant.example, mqtt: {}, password_file: p }", "goes with user"],
  ["{ name: a, url: mqtts://plant.example, mqtt: {}, client_key_file: p }", "go together"],
  ["{ name: a, url: mqtts://plant.example, mqtt: {}, since: yesterday }", "no instant"],
  ["{ name: a, url: mqtts://plant.example, mqtt: {}, booths: [booth-2] }", 'there is no booth "booth-2"'],
  ["{ name: a, url: mqtts://plant.example, mqtt: { topics: { tag: x } } }", "two would share a topic"],
  ["{ name: a, url: mqtts://plant.example, mqtt: { topics: { status: 'x/{booth}' } } }", "{booth} is not known here"],
  ["{ name: a, url: mqtts://plant.example, mqtt: { topics: { tag: 'x/#/{booth}/{tag}' } } }", "no + or #"],
  ["{ name: a, url: mqtts://plant.example, mqtt: { topics: { tag: 'x{/{booth}/{tag}' } } }", "a brace without"],
  [
    "{ name: a, url: mqtts://plant.example, mqtt: { topics: { tag: 'x}/{booth}/{tag}' } } }",
    "a brace without its partner",
  ],
  ["{ name: a, url: mqtts://plant.example, sparkplug: { group_id: a/b } }", "no /, + or #"],
])("%s is refused: %s", (output, why) => {
  expect(refused(output).join("; ")).toContain(why);
});

test("what is wrong with one output leaves that one out, and nothing else", () => {
  const text = `${BOOTHS}outputs:
  - { name: good, url: mqtts://plant.example, mqtt: {} }
  - { name: shape, url: mqtts://plant.example, mqtt: { payload: xml } }
  - { name: plain, url: mqtt://plant.example, mqtt: {} }
  - { name: good, url: mqtts://plant.example, mqtt: {} }
`;
  const { config, booths, refused_outputs, fatal } = inspectText(text, "/srv/gateway.yaml");
  expect(booths.map(({ config: booth }) => booth.id)).toEqual(["booth-1"]);
  expect(config.outputs.map(({ name }) => name)).toEqual(["good"]);
  expect(fatal).toBeNull();
  expect(refused_outputs.map(({ name, error }) => [name, error.line])).toEqual([
    ["shape", 5],
    ["plain", 6],
    ["good", 7],
  ]);
});

test("a shared connection is for this machine, or for those who are named", () => {
  const share = (text: string): string => `booths:\n  - { id: b, profile: p, modbus: { host: h, share: ${text} } }\n`;
  expect(parseConfig(share("{ port: 1502 }"), "/f").booths[0]?.modbus?.share).toEqual({
    port: 1502,
    address: "127.0.0.1",
    clients: [],
    max_age_ms: 2_000,
  });
  expect(() => parseConfig(share("{ port: 1502, address: 0.0.0.0 }"), "/f")).toThrow("needs clients");
  expect(() => parseConfig(share("{ port: 1502, clients: [hmi] }"), "/f")).toThrow("no IP address");
});

test("what docs/operate/outputs.md shows is taken: a plain output, Home Assistant's, a Sparkplug host's, the shared connection", () => {
  const [plain = "", home = "", sparkplug = "", shared = "", ...more] = examplesIn("operate/outputs.md");
  expect(more).toEqual([]);
  const outputsOf = (example: string) => parseConfig(BOOTHS + example, "/srv/gateway.yaml").outputs;
  // It stands in the place of the plain one's.
  const homely = plain.replace(/mqtt: .*\n/, home.replaceAll("\n", "\n    "));
  const [plant] = outputsOf(plain);
  const [hass] = outputsOf(homely);
  const [scada] = outputsOf(sparkplug);
  expect(plant).toMatchObject({ name: "plant", user: "booths", mqtt: { payload: "json" } });
  expect(hass).toMatchObject({ name: "plant", mqtt: { home_assistant: { prefix: "homeassistant" } } });
  expect(scada).toMatchObject({ name: "scada", sparkplug: { group_id: "Plant 1", primary_host_id: "scada" } });
  const text = shared.replace("- id: booth-1\n", "- id: booth-1\n    profile: click-booth\n");
  expect(parseConfig(text, "/srv/gateway.yaml").booths).toMatchObject([{ modbus: { share: { port: 1502 } } }]);
});

test("what docs/operate/monitor.md shows of a collector is taken", () => {
  const example = examplesIn("operate/monitor.md").find((one) => one.includes("otlp")) ?? "";
  expect(parseConfig(BOOTHS + example, "/srv/gateway.yaml").outputs).toMatchObject([{ otlp: { interval_ms: 60_000 } }]);
});
