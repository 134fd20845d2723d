import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { describe, expect, it } from "vitest";
import { ConfigError } from "../../src/config/config-error.ts";
import { loadConfig, settingsIn } from "../../src/config/config.ts";
import {
  madeProfiles,
  NOTHING_SET_UP,
  readSetUp,
  SET_UP_FILE,
  type SetUp,
  withEntry,
  writeSetUp,
} from "../../src/config/set-up.ts";
import { inspectConfig, loadUsableOrLastGood } from "../../src/config/usable.ts";
import { message, type Text } from "../../src/domain/message.ts";
import { MessageError } from "../../src/domain/messages/message-error.ts";
import { temporaryFolder } from "../support/temporary.ts";

const URL = "https://service.example";
const BOOTH = { id: "booth-1", profile: "click-booth", modbus: { host: "192.0.2.10" }, tz: "America/Denver" };

/** Writes the operator's file and the set-up's file. */
function box(own: object, below?: Partial<SetUp>): { readonly file: string; readonly data: string } {
  const folder = temporaryFolder();
  const file = join(folder, "gateway.yaml");
  const data = join(folder, "data");
  writeFileSync(file, stringify({ data_dir: data, runtime_dir: folder, ...own }));
  if (below !== undefined) writeSetUp(data, { ...NOTHING_SET_UP, ...below });
  return { file, data };
}

describe("a configuration file without booths or without a service", () => {
  it.each([
    ["no service and no booths", {}, { url: undefined, booths: 0 }],
    ["a service but no booths", { service: { url: URL } }, { url: URL, booths: 0 }],
    ["a booth but no service", { booths: [BOOTH] }, { url: undefined, booths: 1 }],
    ["an explicitly empty list of booths", { booths: [] }, { url: undefined, booths: 0 }],
  ])("is valid and leaves the missing settings to the set-up if it has %s", (_, own, wanted) => {
    const { usable, refused } = loadUsableOrLastGood(box(own).file, {});
    expect(refused).toBeNull();
    expect(usable.refused).toEqual([]);
    expect({ url: usable.config.service.url, booths: usable.booths.length }).toEqual(wanted);
  });

  it("is rejected if it is empty or faulty", () => {
    for (const text of ["", "boots: []\n", "booths: 3\n", "service: https://service.example\n"]) {
      const { file } = box({});
      writeFileSync(file, text);
      expect(() => loadUsableOrLastGood(file, {})).toThrow(ConfigError);
    }
  });

  it("is rejected as truncated if the gateway had booths until then, unless the list of booths is explicitly empty", () => {
    const { file, data } = box({ service: { url: URL }, booths: [BOOTH] });
    const good = loadUsableOrLastGood(file, {}).usable;
    writeFileSync(file, `data_dir: ${data}\nservice: { url: ${URL} }\n`);
    const cut = loadUsableOrLastGood(file, {});
    expect(cut.refused?.message).toContain("may be cut off");
    expect(cut.usable.booths).toEqual(good.booths);
    writeFileSync(file, `data_dir: ${data}\nservice: { url: ${URL} }\nbooths: []\n`);
    expect(loadUsableOrLastGood(file, {})).toMatchObject({ refused: null, usable: { booths: [] } });
  });
});

describe("the file written by the set-up", () => {
  it("adds the service, booths and profiles that the operator's file doesn't have", () => {
    const { file, data } = box({}, { service: { url: URL }, booths: [BOOTH] });
    mkdirSync(madeProfiles(data));
    const shipped = readFileSync(join(import.meta.dirname, "../../config/profiles/click-booth.yaml"), "utf8");
    writeFileSync(join(madeProfiles(data), "made.yaml"), shipped.replace(/^name: .*$/m, "name: made"));
    writeSetUp(data, withEntry(readSetUp(data), "booth-2", { ...BOOTH, id: "booth-2", profile: "made" }));
    const { config, booths, refused } = inspectConfig(file);
    expect(refused).toEqual([]);
    expect(config.service.url).toBe(URL);
    expect(booths.map(({ config: { id, tz }, profile }) => [id, tz, profile.name])).toEqual([
      ["booth-1", "America/Denver", "click-booth"],
      ["booth-2", "America/Denver", "made"],
    ]);
  });

  it("is overridden by the operator's file key by key, and a PLC link counts as one key", () => {
    const below = {
      service: { url: "https://other.example" },
      booths: [
        { ...BOOTH, id: "booth-2" },
        { ...BOOTH, profile: "micro800-booth", modbus: { host: "192.0.2.99", unit_id: 7 } },
      ],
    };
    const own = { id: "booth-1", profile: "click-booth", modbus: { host: "192.0.2.10" } };
    const { file } = box({ service: { url: URL }, booths: [own] }, below);
    const { service, booths } = loadConfig(file);
    expect(service.url).toBe(URL);
    expect(booths).toMatchObject([
      { id: "booth-1", profile: "click-booth", modbus: { host: "192.0.2.10", port: 502 }, tz: "America/Denver" },
      { id: "booth-2" },
    ]);
    expect(booths[0]?.modbus).not.toHaveProperty("unit_id");
  });

  it("is shown, with its line, as the source of each setting that comes from this file", () => {
    const { file, data } = box(
      { log_level: "warn", booths: [{ id: "booth-1", profile: "click-booth" }] },
      { booths: [BOOTH] },
    );
    const set_up = join(data, SET_UP_FILE);
    const from = Object.fromEntries(settingsIn(file).map(({ path, file: where, line }) => [path, [where, line]]));
    const lineOf = (path: string, word: string): number =>
      readFileSync(path, "utf8")
        .split("\n")
        .findIndex((line) => line.includes(word)) + 1;
    expect(from).toMatchObject({
      log_level: [file, lineOf(file, "log_level")],
      "booths[0].profile": [file, lineOf(file, "click-booth")],
      "booths[0].tz": [set_up, lineOf(set_up, "America/Denver")],
      "booths[0].modbus.host": [set_up, lineOf(set_up, "192.0.2.10")],
      "booths[0].bay_count": [null, null],
    });
  });

  it("disables only the booth that has a fault in this file, and the error names this file and the line", () => {
    const wrong = { ...BOOTH, id: "booth-2", modbus: { host: "tcp://plc" } };
    const { file, data } = box({ service: { url: URL }, booths: [BOOTH] }, { booths: [wrong] });
    const { booths, refused } = inspectConfig(file);
    expect(booths.map(({ config }) => config.id)).toEqual(["booth-1"]);
    expect(refused.map(({ id }) => id)).toEqual(["booth-2"]);
    const [{ error } = { error: null }] = refused;
    expect(error?.file).toBe(join(data, SET_UP_FILE));
    expect(readFileSync(join(data, SET_UP_FILE), "utf8").split("\n")[(error?.line ?? 0) - 1]).toContain("tcp://plc");
    expect(error?.message).toContain(`${join(data, SET_UP_FILE)}:`);
  });

  it.each([
    ["not JSON", "{ service"],
    ["of the wrong shape", '{ "service": 3 }'],
    ["with an invalid URL", '{ "service": { "url": "http://service.example" } }'],
    ["with unexpected keys", '{ "data_dir": "/tmp" }'],
  ])("is reported and ignored if it is damaged (%s), and the booths of the operator's file stay enabled", (_, text) => {
    const { file, data } = box({ service: { url: URL }, booths: [BOOTH] }, {});
    writeFileSync(join(data, SET_UP_FILE), text);
    const { booths, refused } = inspectConfig(file);
    expect(booths.map(({ config }) => config.id)).toEqual(["booth-1"]);
    expect(refused.map(({ id, error }) => [id, error.file])).toEqual([[SET_UP_FILE, join(data, SET_UP_FILE)]]);
  });

  it.each<Text>([
    "words of the PLC",
    message("trial.unread", { address: "plc:502", reason: message("plc.busy"), advice: ["a", message("plc.busy")] }),
  ])("keeps the reason of a failed trial unchanged: %j", (reason) => {
    const { data } = box({}, {});
    const taken_back = { booth: "booth-1", reason, at: 5 };
    writeSetUp(data, { ...readSetUp(data), taken_back });
    expect(readSetUp(data).taken_back).toEqual(taken_back);
  });

  it("is written with mode 0600, and a failed write leaves it unchanged", () => {
    const { data } = box({}, { booths: [BOOTH] });
    const path = join(data, SET_UP_FILE);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const before = readFileSync(path, "utf8");
    const long = { ...NOTHING_SET_UP, draft: { text: "x".repeat(20_000) } };
    expect(() => writeSetUp(data, long)).toThrow(new MessageError(message("config.draft_long")));
    expect(readFileSync(path, "utf8")).toBe(before);
    expect(existsSync(`${path}.new`)).toBe(false);
    expect(withEntry(readSetUp(data), "booth-1", null).booths).toEqual([]);
  });
});
