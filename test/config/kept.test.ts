import { appendFileSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { keepConfig, keptConfig } from "../../src/config/kept.ts";
import { SHIPPED_PROFILES } from "../../src/config/profile.ts";
import { loadLasting, type Made, madeOf, type UsableConfig } from "../../src/config/usable.ts";
import { temporaryFolder } from "../support/temporary.ts";

interface Box {
  readonly folder: string;
  readonly file: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly usable: UsableConfig;
}

/** A box whose agent was started once, with a booth by a profile of its own and one by a shipped one; `meanwhile` comes between two looks. */
function startedOnce(meanwhile: (folder: string) => void = () => undefined): Box {
  const folder = temporaryFolder();
  const file = join(folder, "gateway.yaml");
  const profiles = join(folder, "profiles");
  mkdirSync(profiles);
  const shipped = readFileSync(join(SHIPPED_PROFILES, "click-booth.yaml"), "utf8");
  writeFileSync(join(profiles, "own.yaml"), shipped.replace("name: click-booth", "name: own"));
  const booth = (id: string, profile: string, host: string) =>
    `  - { id: ${id}, profile: ${profile}, modbus: { host: ${host} } }\n`;
  const booths = booth("one", "own", "10.0.0.1") + booth("two", "click-booth", "10.0.0.2");
  writeFileSync(file, `data_dir: state\nservice: { url: "https://service.example" }\nbooths:\n${booths}`);
  const environment = { CACHE_DIRECTORY: join(folder, "cache") };
  const made = (): Made => {
    const found = madeOf(file, loadLasting(file, environment));
    if (found === null) throw new Error("something is refused");
    return found;
  };
  const first = made();
  const again = (): Made => {
    meanwhile(folder);
    return made();
  };
  keepConfig(first, again, environment);
  return { folder, file, environment, usable: first.usable };
}

const kept = ({ file, environment }: Box): UsableConfig | null => keptConfig(file, environment);

it("gives the next start the same, down to every tag of the profiles", () => {
  const box = startedOnce();
  expect(kept(box)).toStrictEqual(box.usable);
  expect(box.usable.booths.map(({ profile }) => profile.tags.length)).not.toContain(0);
});

it("gives nothing once a file is another, gone, or there that wasn't", () => {
  const changes: Readonly<Record<string, (box: Box) => void>> = {
    "the configuration is changed": ({ file }) => appendFileSync(file, "# changed\n"),
    "the configuration is gone": ({ file }) => rmSync(file),
    "a profile is changed": ({ folder }) => appendFileSync(join(folder, "profiles/own.yaml"), "# changed\n"),
    "a profile comes that counts before a shipped one": ({ folder }) =>
      cpSync(join(SHIPPED_PROFILES, "click-booth.yaml"), join(folder, "profiles/click-booth.yaml")),
    "something is set up on the spot": ({ folder }) => writeFileSync(join(folder, "state/setup.json"), "{}"),
    "the last good configuration is gone": ({ folder }) => rmSync(join(folder, "state/last-good.json")),
  };
  for (const [what, change] of Object.entries(changes)) {
    const box = startedOnce();
    change(box);
    expect(kept(box), what).toBeNull();
  }
});

it("keeps nothing where a file is written while it is read", () => {
  const changes: readonly ((folder: string) => void)[] = [
    (folder) => appendFileSync(join(folder, "gateway.yaml"), "# changed\n"),
    (folder) => appendFileSync(join(folder, "profiles/own.yaml"), "# changed\n"),
    (folder) => cpSync(join(SHIPPED_PROFILES, "click-booth.yaml"), join(folder, "profiles/click-booth.yaml")),
  ];
  for (const change of changes) expect(kept(startedOnce(change))).toBeNull();
});

it("gives nothing of what a power cut left in part, of another file, or without a folder to keep it in", () => {
  const box = startedOnce();
  const { folder, file } = box;
  expect(keptConfig(file, {})).toBeNull();
  expect(keptConfig(join(folder, "other.yaml"), box.environment)).toBeNull();
  const [name = ""] = readdirSync(join(folder, "cache"));
  const whole = readFileSync(join(folder, "cache", name));
  for (const length of [0, 10, 31, 32, 33, whole.length - 1]) {
    writeFileSync(join(folder, "cache", name), whole.subarray(0, length));
    expect(kept(box), `${length} bytes of ${whole.length}`).toBeNull();
  }
  const spoilt = Buffer.from(whole);
  spoilt[whole.length >> 1] = (spoilt[whole.length >> 1] ?? 0) ^ 1;
  writeFileSync(join(folder, "cache", name), spoilt);
  expect(kept(box)).toBeNull();
});
