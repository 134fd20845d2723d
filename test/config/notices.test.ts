import { expect, test } from "vitest";
import { ConfigError } from "../../src/config/config-error.ts";
import { parseConfig } from "../../src/config/config.ts";
import { inspectText } from "../../src/config/usable.ts";
import { examplesIn } from "../support/doc-examples.ts";

const BOOTHS = `booths:
  - { id: booth-1, profile: click-booth, modbus: { host: 127.0.0.1 } }
`;

function refused(notice: string): readonly string[] {
  try {
    parseConfig(`${BOOTHS}notices:\n  - ${notice}\n`, "/srv/gateway.yaml");
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map(({ message }) => message);
    throw error;
  }
}

test("a notice is taken as it is meant, with its defaults", () => {
  const text = `${BOOTHS}notices: [{ name: office, mail: { host: mail.example, from: a@b.example, to: [c@d.example], ca_file: ca.pem } }]`;
  expect(parseConfig(text, "/srv/gateway.yaml").notices).toEqual([
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
  ["{ name: a }", "needs one of mail, webhook and mqtt"],
  [`{ name: a, ${MAIL} }, webhook: { url: "https://x.example" } }`, "and no more"],
  [`{ name: a, ${MAIL}, tls: none } }`, "this machine alone"],
  [`{ name: a, ${MAIL}, user: u } }`, "go together"],
  ["{ name: a, mail: { host: h, from: nobody, to: [c@d.example] } }", "a mail address, like shop@example.com"],
  ['{ name: a, mail: { host: h, from: a@b.example, to: ["c@d.example\\nBcc: x@y.example"] } }', "a mail address"],
  ['{ name: a, webhook: { url: "http://x.example" } }', "unprotected"],
  ['{ name: a, webhook: { url: "https://u:p@x.example" } }', "user name or password"],
  ['{ name: a, mqtt: { url: "mqtt://x.example" } }', "unprotected"],
  ['{ name: a, mqtt: { url: "mqtts://x.example", topic: "a/#" } }', "no + or #"],
  ['{ name: a, mqtt: { url: "mqtts://x.example", password_file: p } }', "go together"],
  [`{ name: a, booths: [booth-2], ${MAIL} } }`, 'there is no booth "booth-2"'],
  [`{ name: a, quiet: { from: "22:00", to: "22:00" }, ${MAIL} } }`, "no length"],
  [`{ name: a, quiet: { from: "22:00", to: "6:00" }, ${MAIL} } }`, "a time of day is HH:MM"],
  [`{ name: a, quiet: { from: "22:00", to: "06:00", tz: Mars }, ${MAIL} } }`, 'the time zone "Mars" isn\'t known'],
  [`{ name: a, mode_minutes: { backe: 90 }, ${MAIL} } }`, "backe"],
])("%s is refused: %s", (notice, why) => {
  expect(refused(notice).join("; ")).toContain(why);
});

test("a webhook's address may have a query, and is shown to nobody", () => {
  expect(refused('{ name: a, webhook: { url: "https://x.example/hook?token=4711" } }')).toEqual([]);
});

test("what is wrong with one notice leaves that one out, and nothing else", () => {
  const text = `${BOOTHS}notices:
  - { name: good, webhook: { url: "https://x.example" } }
  - { name: shape, webhook: { url: 4711 } }
  - { name: plain, webhook: { url: "http://x.example" } }
  - { name: good, webhook: { url: "https://x.example" } }
outputs:
  - { name: plain, url: mqtt://plant.example, mqtt: {} }
`;
  const { config, booths, refused_notices, refused_outputs, fatal } = inspectText(text, "/srv/gateway.yaml");
  expect(booths.map(({ config: booth }) => booth.id)).toEqual(["booth-1"]);
  expect(config.notices.map(({ name }) => name)).toEqual(["good"]);
  expect(fatal).toBeNull();
  expect(refused_notices.map(({ name, error }) => [name, error.line])).toEqual([
    ["shape", 5],
    ["plain", 6],
    ["good", 7],
  ]);
  expect(refused_outputs.map(({ name }) => name)).toEqual(["plain"]);
});

test("what docs/operate/notices.md shows is taken", () => {
  const [example = ""] = examplesIn("operate/notices.md");
  expect(parseConfig(BOOTHS + example, "/srv/gateway.yaml").notices.map(({ name }) => name)).toEqual([
    "office",
    "shift",
    "scada",
  ]);
});
