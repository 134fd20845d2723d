import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { settingPath, withSetting } from "../../src/config/edit.ts";

const FILE = `# kept
service:
  # why
  url: https://service.example # the office's
  api_key_file: key

booths:
  - id: booth-1 # left
    modbus: { host: plc, port: 502 }
    poll:
      fast: { poll_interval_ms: 1000 }
    # modbus: { host: other }

  - id: booth-2
    modbus:
      host: 192.0.2.1
      # port: 502
# the end
`;

const set = (path: string, value: string, text = FILE): string => withSetting(text, settingPath(path) ?? [], value);

/** The lines that differ, as "before -> after"; an added one has nothing before it. */
function changes(after: string, before = FILE): readonly string[] {
  const old = before.split("\n");
  const fresh = after.split("\n");
  if (fresh.length === old.length)
    return fresh.flatMap((line, i) => (line === old[i] ? [] : [`${old[i] ?? ""} -> ${line}`]));
  const at = fresh.findIndex((line, i) => line !== old[i]);
  expect([...fresh.slice(0, at), ...fresh.slice(at + fresh.length - old.length)]).toEqual(old);
  return fresh.slice(at, at + fresh.length - old.length).map((line) => `+ after "${old[at - 1] ?? ""}": ${line}`);
}

describe("withSetting", () => {
  it.each([
    [
      "service.url",
      "http://127.0.0.1:1",
      ["  url: https://service.example # the office's ->   url: http://127.0.0.1:1 # the office's"],
    ],
    [
      "booths.booth-1.modbus.host",
      "192.0.2.9",
      ["    modbus: { host: plc, port: 502 } ->     modbus: { host: 192.0.2.9, port: 502 }"],
    ],
    ["booths[1].modbus.host", "plc", ["      host: 192.0.2.1 ->       host: plc"]],
    [
      "booths[0].modbus.unit_id",
      "7",
      ["    modbus: { host: plc, port: 502 } ->     modbus: { host: plc, port: 502, unit_id: 7 }"],
    ],
    ["booths[1].modbus.port", "5020", ['+ after "      host: 192.0.2.1":       port: 5020']],
    ["booths[0].tz", "America/Denver", ['+ after "      fast: { poll_interval_ms: 1000 }":     tz: America/Denver']],
    ["store.max_bytes", "5000000", ['+ after "      host: 192.0.2.1": store: { max_bytes: 5000000 }']],
    ["profile_dirs", "[a, b c]", ['+ after "      host: 192.0.2.1": profile_dirs: [ a, b c ]']],
    ["service.api_key_file", '"a: b"', ['  api_key_file: key ->   api_key_file: "a: b"']],
    [
      "booths[0].poll",
      "{ slow: { poll_interval_ms: 5 } }",
      ["      fast: { poll_interval_ms: 1000 } ->       { slow: { poll_interval_ms: 5 } }"],
    ],
  ])("sets %s to %s and changes nothing else", (path, value, expected) => {
    const after = set(path, value);
    expect(changes(after)).toEqual(expected);
  });

  it("fills in a key that has no value, and adds a key to an empty mapping", () => {
    expect(set("service.url", "x", "service:\n  url:\n")).toBe("service:\n  url: x\n");
    expect(set("a.b", "1", "a: {}\n")).toBe("a: { b: 1 }\n");
  });

  it("keeps all existing lines of the example configuration when it adds a setting", () => {
    const example = readFileSync(new URL("../../config/gateway.example.yaml", import.meta.url), "utf8");
    const after = set("booths.booth-1.modbus.unit_id", "3", example);
    expect(changes(after, example)).toEqual(['+ after "      host: 192.0.2.10":       unit_id: 3']);
    expect(parse(after)).toMatchObject({ booths: [{ modbus: { host: "192.0.2.10", unit_id: 3 } }] });
  });

  it.each([
    ["booths.booth-9.tz", "x", 'Booth "booth-9" does not exist; configured: booth-1, booth-2'],
    ["service.url.deep", "x", "deep cannot be set"],
    ["booths[7].id", "x", "7.id cannot be set"],
  ])("rejects the path %s, which the file does not have", (path, value, message) => {
    expect(() => set(path, value)).toThrow(message);
  });
});

it.each(["", "a..b", "a b", "a[x]", "[0]", "a.b."])("settingPath rejects %j", (path) => {
  expect(settingPath(path)).toBeNull();
});
