import { expect, it } from "vitest";
import { differencesOf } from "../../src/config/differences.ts";
import { inspectText } from "../../src/config/usable.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { join } from "node:path";

const BOOTH = { id: "booth-1", profile: "click-booth", modbus: { host: "192.0.2.10" } };
const OUTPUT = { name: "plant", url: "mqtts://plant.example", mqtt: {} };
const NOTICE = { name: "office", webhook: { url: "https://chat.example" } };
const NONE = { added: [], changed: [], removed: [] };

function usable(folder: string, config: object) {
  const all = { data_dir: folder, booths: [BOOTH], outputs: [OUTPUT], notices: [NOTICE], ...config };
  return inspectText(JSON.stringify(all), join(folder, "gateway.yaml"));
}

it.each([
  [
    "no difference if an entry only spells out default values",
    { booths: [{ ...BOOTH, modbus: { host: "192.0.2.10", port: 502 }, bay_count: 1 }] },
    {},
  ],
  [
    "a booth's changed link",
    { booths: [{ ...BOOTH, modbus: { host: "192.0.2.11" } }] },
    { booths: { ...NONE, changed: ["booth-1"] } },
  ],
  ["an added booth", { booths: [BOOTH, { ...BOOTH, id: "booth-2" }] }, { booths: { ...NONE, added: ["booth-2"] } }],
  ["a removed booth", { booths: [] }, { booths: { ...NONE, removed: ["booth-1"] } }],
  ["a changed notice", { notices: [{ ...NOTICE, max_per_hour: 5 }] }, { notices: { ...NONE, changed: ["office"] } }],
  [
    "an output's changed broker",
    { outputs: [{ ...OUTPUT, url: "mqtts://other.example" }] },
    { outputs: { ...NONE, changed: ["plant"] } },
  ],
  [
    "a renamed output",
    { outputs: [{ ...OUTPUT, name: "mes" }] },
    { outputs: { added: ["mes"], changed: [], removed: ["plant"] } },
  ],
  [
    "settings for which the agent must restart",
    { service: { url: "https://service.example" }, commit_interval_ms: 20_000 },
    { agent: ["service.url", "commit_interval_ms"] },
  ],
  [
    "settings that take effect only after a restart of the systemd service",
    { log_level: "warn", store: { max_age_days: 10 }, page: { port: 9000 } },
    { service: ["log_level", "store.max_age_days", "page.port"] },
  ],
])("the comparison for a reload reports %s", (_what, after, expected) => {
  const folder = temporaryFolder();
  const differences = differencesOf(usable(folder, {}), usable(folder, after));
  expect(differences).toEqual({ booths: NONE, outputs: NONE, notices: NONE, agent: [], service: [], ...expected });
});
