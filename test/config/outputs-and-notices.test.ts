import { expect, test } from "vitest";
import { ConfigError } from "../../src/config/config-error.ts";
import { parseConfig } from "../../src/config/config.ts";
import { render } from "../../src/domain/messages/render.ts";
import { inspectText } from "../../src/config/usable.ts";
import { examplesIn } from "../support/doc-examples.ts";

const BOOTHS = `booths:
  - { id: booth-1, profile: click-booth, modbus: { host: 127.0.0.1 } }
`;
const FILE = "/srv/gateway.yaml";

/** Returns the messages with which an entry of a list is rejected. */
function refused(list: "outputs" | "notices", entry: string): string {
  try {
    parseConfig(`${BOOTHS}${list}:\n  - ${entry}\n`, FILE);
    return "";
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map(({ message }) => render(message)).join("; ");
    throw error;
  }
}

test("an output's configuration gets default values for missing settings", () => {
  const text = `${BOOTHS}outputs: [{ name: plant, url: "mqtts://plant.example", mqtt: {} }]`;
  expect(parseConfig(text, FILE).outputs).toEqual([
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
  ["{ name: a, url: mqtt://plant.example, mqtt: {} }", "not encrypted"],
  ["{ name: a, url: mqtts://u:p@plant.example, mqtt: {} }", "user name or password"],
  ["{ name: a, url: https://plant.example, mqtt: {} }", "must start with"],
  ["{ name: a, url: mqtts://plant.example }", "needs exactly one of mqtt, sparkplug, otlp"],
  ["{ name: a, url: mqtts://plant.example, mqtt: {}, sparkplug: { group_id: g } }", "needs exactly one of"],
  ["{ name: a, url: mqtts://plant.example, mqtt: {}, otlp: {} }", "needs exactly one of"],
  [
    "{ name: a, url: mqtts://plant.example, mqtt: {}, token_file: t }",
    "an output of the kind mqtt does not have token_file",
  ],
  ["{ name: a, url: mqtts://plant.example, otlp: {} }", "must start with"],
  ["{ name: a, url: http://plant.example, otlp: {} }", "not encrypted"],
  [
    "{ name: a, url: https://plant.example, otlp: {}, client_id: x }",
    "an output of the kind otlp does not have client_id",
  ],
  ["{ name: a, url: https://plant.example, otlp: {}, user: u, token_file: t }", "token_file or user, not both"],
  ["{ name: a, url: https://plant.example, otlp: { interval_ms: 5 } }", "at least 10000"],
  ["{ name: a, url: mqtts://plant.example, mqtt: {}, password_file: p }", "password_file needs user"],
  ["{ name: a, url: mqtts://plant.example, mqtt: {}, client_key_file: p }", "must be set together"],
  ["{ name: a, url: mqtts://plant.example, mqtt: {}, since: yesterday }", "not a date with time"],
  ["{ name: a, url: mqtts://plant.example, mqtt: {}, booths: [booth-2] }", 'booth "booth-2" does not exist'],
  ["{ name: a, url: mqtts://plant.example, mqtt: { topics: { tag: x } } }", "several values would have the same topic"],
  ["{ name: a, url: mqtts://plant.example, mqtt: { topics: { status: 'x/{booth}' } } }", "unknown placeholder {booth}"],
  [
    "{ name: a, url: mqtts://plant.example, mqtt: { topics: { tag: 'x/#/{booth}/{tag}' } } }",
    "must not contain + or #",
  ],
  ["{ name: a, url: mqtts://plant.example, mqtt: { topics: { tag: 'x{/{booth}/{tag}' } } }", "brace is missing"],
  ["{ name: a, url: mqtts://plant.example, mqtt: { topics: { tag: 'x}/{booth}/{tag}' } } }", "brace is missing"],
  ["{ name: a, url: mqtts://plant.example, sparkplug: { group_id: a/b } }", "must not contain /, + or #"],
])("the output %s is rejected with the error: %s", (output, why) => {
  expect(refused("outputs", output)).toContain(why);
});

test("the configuration of a notice (notification target) gets default values for missing settings", () => {
  const text = `${BOOTHS}notices: [{ name: office, mail: { host: mail.example, from: a@b.example, to: [c@d.example], ca_file: ca.pem } }]`;
  expect(parseConfig(text, FILE).notices).toEqual([
    {
      name: "office",
      events: ["estop", "fault", "link", "filter", "filter_warning", "incident", "mode", "service", "storage"],
      urgent: ["estop", "fault"],
      max_per_hour: 12,
      link_minutes: 5,
      service_minutes: 30,
      mode_minutes: {},
      mail: {
        host: "mail.example",
        port: 587,
        tls: "starttls",
        from: "a@b.example",
        to: ["c@d.example"],
        ca_file: "/srv/ca.pem",
      },
    },
  ]);
});

const MAIL = "mail: { host: mail.example, from: a@b.example, to: [c@d.example]";

test.each([
  ["{ name: a }", "needs exactly one of mail, webhook and mqtt"],
  [`{ name: a, ${MAIL} }, webhook: { url: "https://x.example" } }`, "exactly one of"],
  [`{ name: a, ${MAIL}, tls: none } }`, "only for this machine"],
  [`{ name: a, ${MAIL}, user: u } }`, "set both user and password_file"],
  ["{ name: a, mail: { host: h, from: nobody, to: [c@d.example] } }", "a mail address, like shop@example.com"],
  ['{ name: a, mail: { host: h, from: a@b.example, to: ["c@d.example\\nBcc: x@y.example"] } }', "a mail address"],
  ['{ name: a, webhook: { url: "http://x.example" } }', "not encrypted"],
  ['{ name: a, webhook: { url: "https://u:p@x.example" } }', "user name or password"],
  ['{ name: a, mqtt: { url: "mqtt://x.example" } }', "not encrypted"],
  ['{ name: a, mqtt: { url: "mqtts://x.example", topic: "a/#" } }', "must not contain + or #"],
  ['{ name: a, mqtt: { url: "mqtts://x.example", password_file: p } }', "set both user and password_file"],
  [`{ name: a, booths: [booth-2], ${MAIL} } }`, 'booth "booth-2" does not exist'],
  [`{ name: a, quiet: { from: "22:00", to: "22:00" }, ${MAIL} } }`, "start and end at the same time"],
  [`{ name: a, quiet: { from: "22:00", to: "6:00" }, ${MAIL} } }`, "a time of day is HH:MM"],
  [`{ name: a, quiet: { from: "22:00", to: "06:00", tz: Mars }, ${MAIL} } }`, 'the time zone "Mars" is not known'],
  [`{ name: a, mode_minutes: { backe: 90 }, ${MAIL} } }`, "backe"],
])("the notice %s is rejected with the error: %s", (notice, why) => {
  expect(refused("notices", notice)).toContain(why);
});

test("a webhook's URL may have a query", () => {
  expect(refused("notices", '{ name: a, webhook: { url: "https://x.example/hook?token=4711" } }')).toBe("");
});

test("a faulty output or notice is disabled, while the other outputs and notices stay enabled", () => {
  const text = `${BOOTHS}outputs:
  - { name: good, url: mqtts://plant.example, mqtt: {} }
  - { name: shape, url: mqtts://plant.example, mqtt: { payload: xml } }
  - { name: plain, url: mqtt://plant.example, mqtt: {} }
  - { name: good, url: mqtts://plant.example, mqtt: {} }
notices:
  - { name: good, webhook: { url: "https://x.example" } }
  - { name: shape, webhook: { url: 4711 } }
  - { name: plain, webhook: { url: "http://x.example" } }
  - { name: good, webhook: { url: "https://x.example" } }
`;
  const { config, booths, refused_outputs, refused_notices, fatal } = inspectText(text, FILE);
  expect(booths.map(({ config: booth }) => booth.id)).toEqual(["booth-1"]);
  expect([...config.outputs, ...config.notices].map(({ name }) => name)).toEqual(["good", "good"]);
  expect(fatal).toBeNull();
  const linesOf = (entries: typeof refused_outputs) => entries.map(({ name, error }) => `${name} ${error.line}`);
  expect(linesOf(refused_outputs)).toEqual(["shape 5", "plain 6", "good 7"]);
  expect(linesOf(refused_notices)).toEqual(["shape 10", "plain 11", "good 12"]);
});

test("a shared PLC connection is open only to this machine unless the configuration lists other client addresses", () => {
  const share = (text: string): string => `booths:\n  - { id: b, profile: p, modbus: { host: h, share: ${text} } }\n`;
  expect(parseConfig(share("{ port: 1502 }"), "/f").booths[0]?.modbus?.share).toEqual({
    port: 1502,
    address: "127.0.0.1",
    clients: [],
    max_age_ms: 2_000,
  });
  expect(() => parseConfig(share("{ port: 1502, address: 0.0.0.0 }"), "/f")).toThrow(
    "must list the addresses that may connect",
  );
  expect(() => parseConfig(share("{ port: 1502, clients: [hmi] }"), "/f")).toThrow("not an IP address");
});

test("the example configurations in docs/operate/outputs.md are valid", () => {
  const [plain = "", home = "", sparkplug = "", shared = "", ...more] = examplesIn("operate/outputs.md");
  expect(more).toEqual([]);
  const outputsOf = (example: string) => parseConfig(BOOTHS + example, FILE).outputs;
  // Home Assistant's section replaces the plain one's.
  const homely = plain.replace(/mqtt: .*\n/, home.replaceAll("\n", "\n    "));
  const [plant] = outputsOf(plain);
  const [hass] = outputsOf(homely);
  const [scada] = outputsOf(sparkplug);
  expect(plant).toMatchObject({ name: "plant", user: "booths", mqtt: { payload: "json" } });
  expect(hass).toMatchObject({ name: "plant", mqtt: { home_assistant: { prefix: "homeassistant" } } });
  expect(scada).toMatchObject({ name: "scada", sparkplug: { group_id: "Plant 1", primary_host_id: "scada" } });
  const text = shared.replace("- id: booth-1\n", "- id: booth-1\n    profile: click-booth\n");
  expect(parseConfig(text, FILE).booths).toMatchObject([{ modbus: { share: { port: 1502 } } }]);
});

test("the example configuration of an OTLP collector in docs/operate/monitor.md is valid", () => {
  const example = examplesIn("operate/monitor.md").find((one) => one.includes("otlp")) ?? "";
  expect(parseConfig(BOOTHS + example, FILE).outputs).toMatchObject([{ otlp: { interval_ms: 60_000 } }]);
});

test("the example configurations in docs/operate/notices.md are valid", () => {
  const [example = ""] = examplesIn("operate/notices.md");
  expect(parseConfig(BOOTHS + example, FILE).notices.map(({ name }) => name)).toEqual(["office", "shift", "scada"]);
});
