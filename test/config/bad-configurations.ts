import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gatewaySchema } from "../../src/config/gateway-schema.ts";
import { type Holds, markedKeys } from "../../src/config/marks.ts";
import { testAuthority } from "../support/tls-files.ts";

type Section = Readonly<Record<string, unknown>>;

/** A configuration with one mistake. */
export interface BadConfiguration {
  readonly title: string;
  readonly config: Section;
  readonly path: string;
}

const BOOTH = { id: "booth-1", profile: "click-booth", modbus: { host: "127.0.0.1" } };
const PLCNEXT = { endpoint: "opc.tcp://127.0.0.1:4840", server_certificate_fingerprint: "a".repeat(64) };
const OUTPUT = { name: "plant", url: "mqtts://127.0.0.1:8883", mqtt: {} };
const NOTICE = { name: "office" };
const MAIL = { host: "127.0.0.1", port: 25, tls: "none", from: "a@x.test", to: ["b@x.test"] };

/** Mistakes of each kind that need no file, by the path that every checker must report. */
const MISTAKES: Readonly<Record<string, Section>> = {
  "service.url": { service: { url: "http://service.example" } },
  "service.proxy_url": { service: { proxy_url: "ftp://a" } },
  "service.mqtt_url": { service: { mqtt_url: "mqtt://a" } },
  "page.prot": { page: { prot: 1 } },
  "store.max_bytes": { store: { max_bytes: 5 } },
  "metrics.token_file": { metrics: { port: 1 } },
  "booths[0].profile": { booths: [{ ...BOOTH, profile: "none" }] },
  "booths[0].opcua": { booths: [{ ...BOOTH, opcua: PLCNEXT }] },
  "booths[0].tz": { booths: [{ ...BOOTH, tz: "Mars/Olympus" }] },
  "outputs[0].otlp.interval_ms": {
    outputs: [{ name: "coll", url: "http://127.0.0.1:4318", otlp: { interval_ms: 5000 } }],
  },
  "outputs[0].mqtt_versoin": { outputs: [{ ...OUTPUT, mqtt_versoin: "v5" }] },
  "outputs[0].url": { outputs: [{ ...OUTPUT, url: "mqtt://a" }] },
  "notices[0].max_per_hour": { notices: [{ ...NOTICE, max_per_hour: 0, mail: MAIL }] },
  "notices[0]": { notices: [NOTICE] },
};

/** A configuration with these settings at the place that a marked key of the schema has. */
function configWith(keys: readonly string[], settings: Section): Section {
  const [section, , part] = keys;
  switch (`${section ?? ""} ${keys.includes("*") ? (part ?? "") : ""}`.trim()) {
    case "service":
      return { service: { url: "https://service.example", ...settings } };
    case "page":
      return { page: settings };
    case "metrics":
      return { metrics: settings };
    case "booths opcua":
      return { booths: [{ id: "booth-1", profile: "plcnext-booth", opcua: opcuaWith(settings) }] };
    case "notices mail":
      return { notices: [{ ...NOTICE, mail: { ...MAIL, ...userWith(settings) } }] };
    case "notices webhook":
      return { notices: [{ ...NOTICE, webhook: { url: "https://hook.example/", ...settings } }] };
    case "notices mqtt":
      return { notices: [{ ...NOTICE, mqtt: { url: "mqtts://127.0.0.1", ...userWith(settings) } }] };
    case "outputs token_file":
      return { outputs: [{ name: "coll", url: "https://collector.example", otlp: {}, ...settings }] };
    default:
      if (section !== "outputs") throw new Error(`no configuration has ${keys.join(".")} yet: add a case here`);
      return { outputs: [{ ...OUTPUT, ...userWith(settings) }] };
  }
}

function userWith(settings: Section): Section {
  return "password_file" in settings ? { user: "u", ...settings } : settings;
}

function opcuaWith(settings: Section): Section {
  const isPinned = "server_certificate_file" in settings;
  return { ...(isPinned ? { endpoint: PLCNEXT.endpoint } : PLCNEXT), ...userWith(settings) };
}

/** Files with one fault each, by what the setting holds. */
function faultyFiles(folder: string): Readonly<Record<Holds, Readonly<Record<string, string>>>> {
  const file = (name: string, content: string | Buffer, mode = 0o600): string => {
    const path = join(folder, name);
    writeFileSync(path, content);
    chmodSync(path, mode);
    return path;
  };
  const authority = testAuthority(folder, "authority");
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const key = { type: "pkcs8", format: "pem" } as const;
  const missing = join(folder, "missing");
  const open = file("open", "secret", 0o644);
  const empty = file("empty", "\n");
  const secret = { missing, "readable by others": open, empty };
  const keys = {
    missing,
    "without a key": file("junk.key", "no key"),
    "with a passphrase": file("locked.key", privateKey.export({ ...key, cipher: "aes-256-cbc", passphrase: "abc" })),
    "of another certificate": file("other.key", privateKey.export(key)),
  };
  const certificates = { missing, "without a certificate": file("junk.pem", "no certificate") };
  return {
    password: secret,
    first_key: { "readable by others": open, empty },
    pin: { ...secret, "too short": file("pin", "1234") },
    token: { ...secret, "too short": file("token", "short") },
    key: keys,
    own_key: { ...keys, "readable by others": file("open.key", privateKey.export(key), 0o644) },
    authorities: {
      ...certificates,
      "in DER form": file("ca.der", new X509Certificate(authority.ca).raw),
      damaged: file("damaged.pem", authority.ca.replace(/^MII.{20}/m, "MIIAAAAAAAAAAAAAAAAAAAAA")),
    },
    certificate: certificates,
    address: {},
  };
}

/** Every mistake above, and each fault of each file that the schema knows. */
export function badConfigurations(folder: string): readonly BadConfiguration[] {
  const own = testAuthority(folder, "own").issue("gateway");
  const faulty = faultyFiles(folder);
  const files = markedKeys(gatewaySchema).flatMap(({ keys, holds }) =>
    Object.entries(faulty[holds]).map(([fault, value]) => {
      const name = keys.at(-1) ?? "";
      const other = name.includes("_key_file")
        ? name.replace("key", "certificate")
        : name.replace("certificate", "key");
      const isPair = /^(client|user)_(certificate|key)_file$/.test(name);
      const partner = isPair ? { [other]: name.includes("_key_file") ? own.cert : own.key } : {};
      const path = keys.join(".").replaceAll(".*", "[0]");
      return { title: `${path} (file ${fault})`, path, config: configWith(keys, { [name]: value, ...partner }) };
    }),
  );
  return [...Object.entries(MISTAKES).map(([path, config]) => ({ title: path, path, config })), ...files];
}
