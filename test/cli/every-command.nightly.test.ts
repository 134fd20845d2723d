import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { GROUPS, type CommandName } from "../../src/cli/table/all.ts";
import type { CommandSpec } from "../../src/cli/spec.ts";
import { eventually } from "../support/eventually.ts";
import { PROVISION_KEY, realSite, SERIAL, type RealSite } from "../support/real-site.ts";
import { say } from "./say.ts";

/** The words after the command's name, the exit code, and the output; JSON without white space. */
type Said = readonly [words: string, code: number, says: RegExp];

interface Row {
  readonly human: Said;
  /** null: the command has no JSON answer. */
  readonly json: Said | null;
  readonly fails: Said;
}

const NO_FILE: Said = ["--config {folder}/none.yaml", 78, /the file does not exist/];
const NO_BOOTH: Said = ["--booth booth-9", 2, /the configuration has no booth "booth-9"/];
const UNASKED: Said = ["", 1, /No terminal to ask on: run it again with --yes/];
const bind: Said = [`${SERIAL} --yes --key-file {folder}/typed`, 0, / active\n$/];

/** Each command with a running agent: as text, as JSON, and failing. In an order in which they can run. */
const ROWS: Readonly<Record<Exclude<CommandName, "run">, Row>> = {
  provision: {
    human: bind,
    json: [`${SERIAL} --yes`, 0, /^{"booth":"booth-1","serial":"ABCD-123-123".*"state":"active"/],
    fails: ["not/a/serial", 2, /letters, digits and single dashes/],
  },
  status: {
    human: ["", 0, /^gateway +.*\n[^]*booth-1 +serial ABCD-123-123[^]*PLC +127\.0\.0\.1:\d+: up for/],
    json: ["", 0, /^{"agent_version":.*"booths":\[{"booth":"booth-1"/],
    fails: NO_FILE,
  },
  backlog: { human: ["", 0, /booth-1/], json: ["", 0, /"booth":"booth-1"/], fails: NO_FILE },
  page: {
    human: ["", 0, /^PIN +\d{4} \d{4} +\(for 30 min\)\non this box +http:/],
    json: ["", 0, /"pin":"\d{4} \d{4}"/],
    fails: ["--for 99h", 2, /--for 99h is not a duration such as/],
  },
  label: {
    human: ["--config {folder}/labelled.yaml", 0, /address +https:\/\/[\d.]+:8443\/\nPIN +none set beforehand/],
    json: ["--config {folder}/labelled.yaml", 0, /"url":"https:/],
    // This site's page has any free port.
    fails: ["", 78, /page\.lan_port is 0, any free port: a label needs a fixed one/],
  },
  setup: {
    human: ["--keep", 0, /^service +http:.*by the configuration\nbooth-1 +click-booth at 127\.0\.0\.1:\d+/],
    json: ["", 0, /"booths":\[{"booth":"booth-1"/],
    fails: ["", 1, /No terminal to ask on: run it at a terminal/],
  },
  records: {
    human: ["filters", 0, /digest [0-9a-f-]{19}\n$/],
    json: ["bakes", 0, /^{"head":{"document":"bake_records"/],
    fails: ["verify 1111-2222-3333-4444", 1, /no document of .* has this digest/],
  },
  durations: {
    human: ["", 0, /Mode +[\d.]+/],
    json: ["", 0, /^{.*"modes":\[{"mode":/],
    fails: ["--from x", 2, /--from x is not a time like/],
  },
  history: {
    human: ["mode", 0, /mode +\d+\n/],
    json: ["mode", 0, /"data":{"mode":\[{"value":/],
    fails: ["", 2, /TAGS is missing/],
  },
  filters: {
    human: ["", 0, /exhaust_filter/],
    json: ["", 0, /"exhaust_filter":{"last_active_filter":/],
    fails: ["changed nothing", 2, /FILTER can't be "nothing"/],
  },
  explain: {
    human: ["runtime", 0, /rules\n/],
    json: ["runtime", 0, /"rules":\[/],
    fails: ["nothing", 2, /FIGURE can't be "nothing"/],
  },
  reconcile: {
    human: ["", 0, /figures compared/],
    json: ["", 0, /^{"id":"[^"]+","kind":/],
    fails: ["--day 2026", 1, /a day is YYYY-MM-DD/],
  },
  rebuild: {
    human: ["", 0, /nothing changed/],
    json: ["", 0, /"kind":"done"/],
    fails: ["--booth booth-9", 1, /none of that name/],
  },
  probe: {
    human: ["127.0.0.1:{plc} --units 1", 0, /unit IDs +1\n/],
    json: ["127.0.0.1:{plc} --units 1", 0, /"kind":"modbus","units":\[{"unit":1,"answer":"answers"}\]/],
    fails: ["127.0.0.1:99999", 2, /is not an address such as/],
  },
  detect: {
    human: ["cycle_count", 0, /in the profile: { address: "holding:16384"/],
    json: ["cycle_count", 0, /"point":{"address":"holding:16384"/],
    fails: ["nothing", 2, /"nothing" is not a Modbus address/],
  },
  plan: { human: ["", 0, /^booth-1: click-booth/], json: ["", 0, /"booth":"booth-1"/], fails: NO_BOOTH },
  tags: { human: ["", 0, /cycle_count +[\da-f ]+/], json: ["", 0, /"tag":"cycle_count"/], fails: NO_BOOTH },
  record: {
    human: ["--for 1s --out {folder}/a.trace", 0, /a\.trace: \d+ answers/],
    json: ["--for 1s --out {folder}/b.trace", 0, /"answers":\d+,"silences":\d+,"failures":0/],
    fails: ["--out {folder}/none/x.trace", 2, /can't be written: ENOENT/],
  },
  profile: {
    human: ["new long-a --from click", 0, /long-a\.yaml is saved; still missing/],
    json: ["new long-b --from click", 0, /"file":".*long-b\.yaml"/],
    fails: ["new long-b --from click", 2, /already exists/],
  },
  check: { human: ["", 0, /is in order/], json: ["", 0, /"booth-1"/], fails: NO_FILE },
  config: {
    human: ["show log_level", 0, /log_level +info +default/],
    json: ["show log_level", 0, /"settings":\[{"path":"log_level"/],
    fails: ["show nothing", 1, /unknown setting nothing/],
  },
  reload: {
    human: ["", 0, /^the configuration is in force as it was\n$/],
    json: ["", 0, /^{"booths":{"added":\[\],"changed":\[\],"removed":\[\]},.*"needs_restart":\[\]}/],
    fails: NO_FILE,
  },
  notify: {
    human: ["test", 0, /^office +webhook to http:\/\/127\.0\.0\.1:\d+: delivered: HTTP 204\n$/],
    json: ["test office", 0, /^{"notices":\[{"name":"office","kind":"webhook".*"outcome":{"kind":"delivered"/],
    fails: ["test none", 1, /there is no notice none: office/],
  },
  doctor: {
    human: ["--config {folder}/elsewhere.yaml", 1, /the agent is not running[^]*what to do/i],
    json: ["--config {folder}/elsewhere.yaml", 1, /^{"ok":false,"findings":\[{/],
    fails: ["now", 2, /one word too many/],
  },
  "support-bundle": {
    human: ["--out {folder}/a.tar.gz", 0, /a\.tar\.gz/],
    json: ["--out {folder}/b.tar.gz", 0, /"file":".*b\.tar\.gz"/],
    fails: ["--out {folder}/none/x", 2, /can't be written: ENOENT/],
  },
  store: {
    human: ["check", 0, /sound\nbooth-1/],
    json: ["check", 0, /"sound":true/],
    fails: ["check --data-dir {folder}/none", 1, /there is no store at/],
  },
  schemas: {
    human: ["{folder}/schemas", 0, /gateway\.schema\.json\n/],
    json: ["{folder}/schemas", 0, /^{"files":\[/],
    fails: ["", 2, /FOLDER is missing/],
  },
  completion: { human: ["bash", 0, /^# bash completion for/], json: null, fails: ["tcsh", 2, /SHELL can't be "tcsh"/] },
  manual: { human: ["", 0, /^\.TH BOOTH/], json: null, fails: ["x", 2, /one word too many/] },
  release: { human: ["--yes", 0, / released\n$/], json: ["--yes", 0, /"state":"released"/], fails: UNASKED },
  decommission: {
    human: ["--yes", 0, / decommissioned\n$/],
    json: ["--yes", 0, /"state":"decommissioned"/],
    fails: UNASKED,
  },
};

const groups: readonly { readonly commands: readonly CommandSpec[] }[] = GROUPS;
const TABLE = groups.flatMap(({ commands }) => commands);
const specOf = (name: string): CommandSpec | undefined => TABLE.find((one) => one.name === name);

/** Milliseconds since 1970, which no output may have. */
const EPOCH = /\b1[5-9]\d{11}\b/;

/** Runs a command. Returns what differs from its row; null: nothing. */
async function faultOf(
  site: RealSite,
  name: string,
  { said, as }: { said: Said; as: keyof Row },
): Promise<string | null> {
  const [words, code, says] = said;
  const filled = words.replaceAll("{folder}", site.folder).replaceAll("{plc}", site.plc.port.toString());
  const config =
    "config FILE" in (specOf(name)?.options ?? {}) && !words.includes("--config") ? ["--config", site.configFile] : [];
  const argv = [name, ...filled.split(" ").filter(Boolean), ...(as === "json" ? ["--json"] : []), ...config];
  const told = await say(argv);
  const isOne = as !== "json" || told.out === `${JSON.stringify(JSON.parse(told.out || "null"), null, 2)}\n`;
  const text = as === "fails" ? told.err : as === "json" ? JSON.stringify(JSON.parse(told.out || "null")) : told.out;
  const silent = as === "fails" ? told.out : name === "record" ? "" : told.err;
  const isRight = told.code === code && says.test(text) && silent === "" && isOne && !EPOCH.test(told.out);
  return isRight ? null : `${argv.join(" ")}: ${told.code}\n${told.out.slice(0, 600)}${told.err.slice(0, 600)}`;
}

/** Binds a released booth again. */
async function bound(site: RealSite): Promise<void> {
  if ((await site.status())?.booths[0]?.provisioning.state !== "released") return;
  writeFileSync(join(site.folder, "typed"), `${PROVISION_KEY}\n`);
  expect(await faultOf(site, "provision", { said: bind, as: "human" })).toBeNull();
}

it("every command except run has a row in this test's table, with a JSON case if the command has --json", () => {
  expect(Object.keys(ROWS).sort()).toEqual(
    TABLE.map(({ name }) => name)
      .filter((name) => name !== "run")
      .sort(),
  );
  for (const [name, { json }] of Object.entries(ROWS))
    expect(json !== null, name).toBe("json" in (specOf(name)?.options ?? {}));
});

it("each command prints text or one JSON document as documented, and fails with its documented exit code and message", async () => {
  const site = await realSite({ speed: 120, serial: null, scenario: "busy-day" });
  writeFileSync(join(site.folder, "typed"), `${PROVISION_KEY}\n`);
  const office = createServer((_, answer) => void answer.writeHead(204).end());
  await new Promise<void>((resolve) => office.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void office.close());
  const { port } = office.address() as AddressInfo;
  const notice = `notices: [{ name: office, webhook: { url: "http://127.0.0.1:${port}/" } }]\n`;
  writeFileSync(site.configFile, readFileSync(site.configFile, "utf8") + notice);
  const elsewhere = readFileSync(site.configFile, "utf8").replace(site.runtimeDir, join(site.folder, "nobody"));
  writeFileSync(join(site.folder, "elsewhere.yaml"), elsewhere);
  const labelled = readFileSync(site.configFile, "utf8").replace("lan_port: 0", "lan_port: 8443");
  writeFileSync(join(site.folder, "labelled.yaml"), labelled);
  // A second agent with the same folder must fail.
  const agent = site.startAgent();
  await agent.line(/is running/);
  const faults = [await faultOf(site, "run", { said: ["", 1, /another agent|in use|running/], as: "fails" })];
  await eventually("the PLC is read", async () => ((await site.status())?.booths[0]?.now === null ? undefined : true));
  for (const [name, { human, json, fails }] of Object.entries(ROWS)) {
    if (name === "decommission") continue;
    faults.push(await faultOf(site, name, { said: human, as: "human" }));
    if (json !== null) {
      await bound(site);
      faults.push(await faultOf(site, name, { said: json, as: "json" }));
    }
    faults.push(await faultOf(site, name, { said: fails, as: "fails" }));
    await bound(site);
  }
  expect(faults.filter((fault) => fault !== null)).toEqual([]);
});

/** A decommissioned agent wipes its data and ends, so each run has its own site. */
it.each(["human", "json"] as const)(
  "the decommission command prints its result in %s form, and the agent exits with 0",
  async (as) => {
    const site = await realSite({ speed: 1, serial: SERIAL });
    const agent = site.startAgent();
    const isActive = async (): Promise<true | undefined> =>
      (await site.status())?.booths[0]?.provisioning.state === "active" ? true : undefined;
    await eventually("the booth is bound", isActive);
    const { [as]: said, fails } = ROWS.decommission;
    expect(await faultOf(site, "decommission", { said: fails, as: "fails" })).toBeNull();
    expect(said === null ? "it has no such form" : await faultOf(site, "decommission", { said, as })).toBeNull();
    expect(await agent.ended).toBe(0);
  },
);
