import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

import { parseConfig } from "../../src/config/config.ts";
import { ConfigError } from "../../src/config/config-error.ts";
import { parseNode, parsePath } from "../../src/config/profile-address.ts";
import { parseProfile, SHIPPED_PROFILES } from "../../src/config/profile.ts";
import { plcAddress } from "../../src/domain/plc-address.ts";

const PLCNEXT = readFileSync(join(SHIPPED_PROFILES, "plcnext-booth.yaml"), "utf8");
const PIN = "ab".repeat(32);

function refusal(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error("it was accepted");
}

const config = (opcua: string, more = ""): string => `service: { url: https://service.example }
booths:
  - id: booth-1
    profile: plcnext-booth
    ${more}
    opcua: { ${opcua} }
`;
const addressOf = (opcua: string) => parseConfig(config(opcua), "/etc/bg/gateway.yaml").booths[0]?.opcua;

describe("a variable of an OPC UA profile", () => {
  test("is addressed by the URI of its namespace, and an address with a namespace index is rejected", () => {
    expect(parseNode("nsu=urn:plc:program;s=Booth.Mode", undefined)).toEqual({
      namespace: "urn:plc:program",
      id: "s=Booth.Mode",
    });
    expect(parseNode("s=Booth;Mode", "urn:plc")).toEqual({ namespace: "urn:plc", id: "s=Booth;Mode" });
    expect(parseNode({ namespace: "urn:plc", id: "i=7" }, undefined)).toEqual({ namespace: "urn:plc", id: "i=7" });
    expect(parseNode("i=2258", undefined)).toEqual({ namespace: "http://opcfoundation.org/UA/", id: "i=2258" });
    for (const text of ["ns=4;s=Booth.Mode", "s=x", "nsu=urn:plc;Mode", "nsu=urn:plc;i=99999999999", "i=-1", ""]) {
      expect(parseNode(text, undefined)).toHaveProperty("message");
    }
    expect(parsePath(["nsu=urn:di;DeviceSet", "Plc"], "urn:plc")).toEqual({
      path: [
        { namespace: "urn:di", name: "DeviceSet" },
        { namespace: "urn:plc", name: "Plc" },
      ],
    });
    expect(parsePath(["2:DeviceSet"], "urn:plc")).toHaveProperty("message");
    expect(parsePath(["DeviceSet"], undefined)).toHaveProperty("message");
  });

  test("is rejected with an error at its line and column if its address is missing or wrong", () => {
    const broken = (from: string | RegExp, to: string): string =>
      refusal(() => parseProfile(PLCNEXT.replace(from, to), "p.yaml"));
    expect(broken('node: "s=Arp.Plc.Eclr/BoothCtrl.Mode"', 'node: "ns=4;s=Mode"')).toMatch(
      /p\.yaml:\d+:\d+: tags\[0\]\.node/,
    );
    expect(broken('node: "s=Arp.Plc.Eclr/BoothCtrl.Mode"', "address: 400001")).toContain('unknown key "address"');
    expect(broken('node: "s=Arp.Plc.Eclr/BoothCtrl.Mode", ', "")).toContain("a tag needs node or path");
    expect(broken("protocol: opcua", "protocol: opcau")).toContain('did you mean "opcua"?');
    expect(broken("protocol: opcua", "protocol: modbus")).toContain('unknown key "opcua"');
  });
});

describe("the configuration of a booth with an OPC UA server", () => {
  test("may name the same server as another booth, in a file that also has booths on a shared Modbus line", () => {
    const opcua = 'opcua: { endpoint: "opc.tcp://plc:4840" }';
    const line = "modbus: { serial: { path: /dev/ttyUSB0 }, unit_id";
    const text = `service: { url: https://service.example }
booths:
  - { id: a, profile: click-booth, ${line}: 1 } }
  - { id: b, profile: click-booth, ${line}: 2 } }
  - { id: c, profile: plcnext-booth, ${opcua} }
  - { id: d, profile: plcnext-booth, ${opcua} }
`;
    const { booths } = parseConfig(text, "/etc/bg/gateway.yaml");
    const plc = "opc.tcp://plc:4840";
    expect(booths.map(plcAddress)).toEqual(["/dev/ttyUSB0", "/dev/ttyUSB0", plc, plc]);
    expect(booths.map(({ modbus }) => modbus?.unit_id)).toEqual([1, 2, undefined, undefined]);
  });

  test("gets a strong security policy by default, absolute paths and a normalized certificate fingerprint", () => {
    const shown = PIN.toUpperCase().match(/../g)?.join(":") ?? "";
    const given = `endpoint: "opc.tcp://plc:4840", user: gw, password_file: pw, server_certificate_fingerprint: "${shown}"`;
    expect(addressOf(given)).toEqual({
      endpoint: "opc.tcp://plc:4840",
      security_policy: "Basic256Sha256",
      allow_insecure: false,
      user: "gw",
      password_file: "/etc/bg/pw",
      server_certificate_fingerprint: PIN,
    });
  });

  test("has no mode by default, and accepts the modes read and subscribe", () => {
    expect(addressOf('endpoint: "opc.tcp://plc:4840"')).not.toHaveProperty("mode");
    for (const mode of ["read", "subscribe"]) {
      expect(addressOf(`endpoint: "opc.tcp://plc:4840", mode: ${mode}`)).toMatchObject({ mode });
    }
  });

  test("accepts a user without a password file, because the password may come from the service", () => {
    const address = addressOf('endpoint: "opc.tcp://plc:4840", user: gw');
    expect(address).toMatchObject({ user: "gw" });
    expect(address).not.toHaveProperty("password_file");
  });

  test.each([
    ['endpoint: "opc.tcp://plc:4840", mode: push', "opcua.mode"],
    ['endpoint: "http://plc:4840"', "opc.tcp://HOST:PORT"],
    ['endpoint: "opc.tcp://user:secret@plc:4840"', "must not contain a user name or password"],
    ['endpoint: "opc.tcp://plc:4840", security_policy: None', "add allow_insecure: true"],
    ['endpoint: "opc.tcp://plc:4840", allow_insecure: true', "allow_insecure is only for security_policy: None"],
    [
      'endpoint: "opc.tcp://plc", security_policy: None, allow_insecure: true, user: gw',
      "the password would be sent unprotected",
    ],
    ['endpoint: "opc.tcp://plc:4840", security_policy: Basic256', "unknown value"],
    ['endpoint: "opc.tcp://plc:4840", password_file: pw', "password_file needs user"],
    ['endpoint: "opc.tcp://plc:4840", server_certificate_fingerprint: "ab:cd"', "64 hexadecimal digits"],
    ['endpoint: "opc.tcp://plc:4840", password: secret', 'unknown key "password"'],
  ])("is rejected if opcua is { %s }: %s", (given, message) => {
    expect(refusal(() => addressOf(given))).toContain(message);
  });

  test("is rejected if the booth has both a Modbus and an OPC UA link, or neither", () => {
    const both = config('endpoint: "opc.tcp://plc:4840"', "modbus: { host: plc }");
    expect(refusal(() => parseConfig(both, "g.yaml"))).toContain("a booth needs either modbus or opcua");
    const neither = "service: { url: https://service.example }\nbooths: [{ id: booth-1, profile: x }]\n";
    expect(refusal(() => parseConfig(neither, "g.yaml"))).toContain("a booth needs either modbus or opcua");
  });
});
