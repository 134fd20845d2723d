import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { loadUsableOrLastGood } from "../../src/config/usable.ts";
import { recordFault } from "../support/faults.ts";
import { temporaryFolder } from "../support/temporary.ts";

function configIn(folder: string): { readonly file: string; readonly text: string; readonly data: string } {
  const file = join(folder, "gateway.yaml");
  const data = join(folder, "data");
  const booth =
    "  - id: booth-1\n    profile: click-booth\n    modbus: { host: 127.0.0.1, port: 9 }\n    tz: America/Denver\n";
  const text = `data_dir: ${data}\nruntime_dir: ${folder}\nservice:\n  url: https://service.example\nbooths:\n${booth}`;
  writeFileSync(file, text);
  return { file, text, data };
}

it("a truncated configuration file is rejected with an error that names it, and the last good one stays in use (fault matrix row 40)", () => {
  const folder = temporaryFolder();
  const { file, text, data } = configIn(folder);
  const environment = { STATE_DIRECTORY: data };
  const { usable: good } = loadUsableOrLastGood(file, environment);
  let refused = 0;
  let wrong = 0;
  for (let at = 0; at < text.length; at += 9) {
    writeFileSync(file, text);
    loadUsableOrLastGood(file, environment);
    writeFileSync(file, text.slice(0, at));
    const lasting = loadUsableOrLastGood(file, environment);
    // A file that is sound although it is cut is what somebody may have meant.
    if (lasting.refused === null) continue;
    refused += 1;
    expect(lasting.refused.message).toContain(file);
    expect(lasting.usable).toEqual(good);
    if (JSON.stringify(lasting.usable) !== JSON.stringify(good)) wrong += 1;
  }
  expect(refused).toBeGreaterThan(text.length / 18);
  process.stdout.write(`row 40: ${refused} cuts refused, the last good one in use\n`);
  recordFault({
    row: 40,
    fault: "half-written config",
    injected: refused,
    lost: 0,
    doubled: 0,
    wrong,
    passed: wrong === 0,
  });
});

it.each([
  ["broken", (file: string) => writeFileSync(file, "service: [\n")],
  [
    "unreadable",
    (file: string) => {
      rmSync(file);
      mkdirSync(file);
    },
  ],
  ["missing", (file: string) => rmSync(file)],
])(
  "a configuration file that is %s is rejected, and the last good copy in the state directory is used (fault matrix row 40)",
  (name, spoil) => {
    const { file, data } = configIn(temporaryFolder());
    const { usable: good } = loadUsableOrLastGood(file, {});
    expect(statSync(join(data, "last-good.json")).mode & 0o777).toBe(0o600);
    spoil(file);
    const { usable, refused } = loadUsableOrLastGood(file, { STATE_DIRECTORY: data });
    expect(refused?.message).toContain(file);
    expect(usable).toEqual(good);
    recordFault({ row: 40, fault: `${name} config`, injected: 1, lost: 0, doubled: 0, wrong: 0, passed: true });
  },
);

it("loadUsableOrLastGood throws the fault of a faulty file if no usable last good copy of that file exists", () => {
  const { file, data } = configIn(temporaryFolder());
  loadUsableOrLastGood(file, {});
  const other = configIn(temporaryFolder());
  writeFileSync(other.file, "service: [\n");
  expect(() => loadUsableOrLastGood(other.file, {})).toThrow(other.file);
  expect(() => loadUsableOrLastGood(other.file, { STATE_DIRECTORY: data })).toThrow(other.file);
  writeFileSync(join(data, "last-good.json"), readFileSync(join(data, "last-good.json"), "utf8").slice(0, 20));
  writeFileSync(file, "service: [\n");
  expect(() => loadUsableOrLastGood(file, { STATE_DIRECTORY: data })).toThrow(file);
});
