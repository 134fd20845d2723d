import { describe, expect, it } from "vitest";
import { ConfigError } from "../../src/config/config-error.ts";
import { masked } from "../../src/config/mask.ts";
import { render } from "../../src/domain/messages/render.ts";
import { inspectText } from "../../src/config/usable.ts";

const SECRETS = ["hunter2", "T0PS3CRET", "s3same"];

describe("masked", () => {
  it.each([
    ['  url: "https://booths:hunter2@hook.example/x"', '  url: "https://*"'],
    ["  url: https://hook.example/services/T0PS3CRET?key=s3same", "  url: https://hook.example*"],
    ["  - { url: 'https://hook.example:8443/T0PS3CRET' }", "  - { url: 'https://hook.example:8443*' }"],
    ["  proxy_url: http://user:hunter2 T0PS3CRET@proxy", "  proxy_url: http://* *"],
    ["  url: hook.example/T0PS3CRET", "  url: *"],
    ["  mail: { password: hunter2, to: [a@x.test] }", "  mail: { password: *, to: [a@x.test] }"],
    ['  "api_key" : "hunter2, s3same" # old', '  "api_key" : "* *" # old'],
    ["  password_file: hunter2", "  password_file: *"],
    ["  api_key_credential: T0PS3CRET", "  api_key_credential: *"],
  ])("hides the secret in the line %j", (line, shown) => {
    const told = masked(line);
    for (const secret of SECRETS) expect(told).not.toContain(secret);
    expect(told).toHaveLength(line.length);
    expect(told.replaceAll(/\*+/g, "*")).toBe(shown);
  });

  it.each([
    "  host: 192.0.2.10 # the PLC",
    "  password_file: /etc/booth-gateway/mail.password",
    "must start with one of https://, http://",
    "an endpoint has the form opc.tcp://HOST:PORT, with or without a path",
    '  url: "mqtts://10.1.2.3:8883"',
    "  token_file: ~",
    'unknown key "mqtt_versoin" (did you mean "mqtt_version"?)',
  ])("leaves the text %j unchanged", (line) => {
    expect(masked(line)).toBe(line);
  });
});

/** Every form of a configuration's errors: for a terminal, for the status, for programs. */
function told(text: string): string {
  try {
    const { refused, refused_outputs, refused_notices, fatal } = inspectText(text, "/srv/gateway.yaml");
    const entries = [...refused, ...refused_outputs, ...refused_notices].map(({ error }) => error);
    return [...entries, ...(fatal === null ? [] : [fatal])].map(saidBy).join("\n");
  } catch (error) {
    if (error instanceof ConfigError) return saidBy(error);
    throw error;
  }
}

function saidBy(error: ConfigError): string {
  const data = JSON.stringify([error.text, error.brief(), error.problems, error.hint]);
  return [error.message, render(error.brief()), error.full(), data, render(error.hint ?? "")].join("\n");
}

describe("an error about a configuration", () => {
  it.each([
    ["a URL with a password", "service: { url: 'https://booths:hunter2@service.example' }"],
    ["a proxy with a password", "service: { proxy_url: 'http://u:hunter2@proxy:3128' }"],
    ["a webhook's address that is no URL", "notices: [{ name: a, webhook: { url: 'hook.example/T0PS3CRET' } }]"],
    ["a webhook without TLS", "notices: [{ name: a, webhook: { url: 'http://hook.example/T0PS3CRET' } }]"],
    ["a webhook in a list", "notices: [{ name: a, webhook: { url: ['https://hook.example/T0PS3CRET'] } }]"],
    ["a password at an unknown key", "notices: [{ name: a, mail: { host: h, password: hunter2 } }]"],
    [
      "a password where the path of its file belongs",
      "notices: [{ name: a, mail: { host: h, password_file: hunter2, prot: 1 } }]",
    ],
    ["a key where the name of a credential belongs", "service: { api_key_credential: 'hunter2!s3same' }"],
    ["a key of the wrong type", "service: { api_key_file: [hunter2] }"],
    ["an output's login in its URL", "outputs: [{ name: a, url: 'mqtts://u:hunter2@broker', mqtt: {} }]"],
    [
      "a further server's URL with a login",
      "outputs: [{ name: a, url: 'mqtts://b', sparkplug: { group_id: g, more_urls: ['mqtts://u:hunter2@b'] } }]",
    ],
    [
      "an endpoint with a login",
      "booths: [{ id: b, profile: p, opcua: { endpoint: 'opc.tcp://u:hunter2@plc:4840' } }]",
    ],
    ["text that is no YAML", "service: { url: 'https://u:hunter2@x' \nnotices: ]"],
    ["a YAML alias without an anchor", "service: { url: *hunter2 }"],
    ["a key that is a URL", "service: { 'https://u:hunter2@x': 1 }"],
  ])("doesn't contain the secret if the fault is in %s", (_, text) => {
    const said = told(`${text}\n`);
    expect(said).not.toBe("");
    for (const secret of SECRETS) expect(said).not.toContain(secret);
  });
});
