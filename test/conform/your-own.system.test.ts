// Needs Debian packages: mosquitto, python3-paho-mqtt.
import { expect, it } from "vitest";
import type { AgentStatus } from "../../src/domain/status.ts";
import { plcSite } from "../cli/plc-site.ts";
import { eventually } from "../support/eventually.ts";
import { GATEWAY, startProgram } from "../support/processes.ts";
import { ofTest } from "../support/temporary.ts";
import { codeOf, failuresOf, KEY, proseOf, runKit, SERIAL, startTutorial, tutorialFiles } from "./kit.ts";

const READY_MS = 60_000;
/** Mutants that run at once; each has a broker of its own. */
const AT_ONCE = 3;

it("the tutorial has at most 1,200 words, and its service at most 200 lines of code", () => {
  const lines = codeOf("python")
    .split("\n")
    .filter((line) => line.trim() !== "");
  expect(lines.length).toBeLessThanOrEqual(200);
  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(120);
  expect(proseOf().split(/\s+/).length).toBeLessThanOrEqual(1200);
});

it("the service of the tutorial passes the conformance kit", async () => {
  const url = await startTutorial(tutorialFiles(), ofTest);
  const outcomes = await runKit({ url });
  expect(failuresOf(outcomes)).toEqual([]);
  const passed = outcomes.filter(({ result, level }) => level !== "document" && result === "pass").map(({ id }) => id);
  expect(passed.filter((id) => id.startsWith("P")).length).toBe(21);
  expect(passed.filter((id) => id.startsWith("F")).length).toBe(27);
});

it("a real gateway claims a booth of the tutorial's service, and its records are acked", async () => {
  const url = await startTutorial(tutorialFiles(), ofTest);
  const { configFile, gateway } = await plcSite({ service_url: url, api_key: KEY });
  const agent = startProgram(GATEWAY, ["run", "--config", configFile]);
  await agent.line(/"event":"plc_up"/, READY_MS);
  const claimed = await gateway("provision", SERIAL, "--yes", "--config", configFile);
  expect(claimed.err).toBe("");
  await eventually(
    "the booth is active, and its records are acked",
    async () => {
      const { out } = await gateway("status", "--json", "--config", configFile);
      // The answer is the agent's, so its shape is known.
      const [booth] = (JSON.parse(out) as AgentStatus).booths;
      return booth?.provisioning.state === "active" && booth.log.acked_seq > 0 ? true : undefined;
    },
    READY_MS,
  );
});

/** A planted fault: a changed text of a tutorial's file, and the check that must fail first. */
const FAULTS: readonly (readonly [fault: string, from: string, to: string, check: string])[] = [
  ["requests without a key are answered", "if key != KEY and gateway is None", "if False", "D01"],
  ["the page size is ignored", '"limit": limit', '"limit": 50', "D04"],
  ["a claim of any generation is taken", 'body["expected_generation"] != generation or', "", "P07"],
  ["a repeated claim is refused", 'if known and known["asked"] == asked', "if False", "P10"],
  ["another gateway may claim a held booth", '(holder and intent != "take_over")', "False", "P12"],
  ["an older report replaces a newer one", '>= (held["reported"] or {"seq": 0})["seq"]', ">= 0", "P19"],
  ["a released booth still names its gateway", ", gateway=None, mqtt=None)", ")", "P22"],
  ["the broker accepts any password", "password_file passwords", "allow_anonymous true", "F01"],
  ["the hash is over unsorted keys", "in sorted(value))", "in value)", "F02"],
  ["numbers are written as in Python", "parse_int=Number, parse_float=Number", "parse_int=Number", "F04"],
  ["text is escaped in the hash", "ensure_ascii=False", "ensure_ascii=True", "F04"],
  ["the quality is left out", 'odd.get(i, "good")', '"good"', "F04"],
  ["some acks are never sent", "if ack: client", 'if ack and ack["n"] != 4: client', "F05"],
  ["other content is not noticed", 'if held and held["line"] != line', "if False", "F10"],
  ["an ack of a conflict has another count", '"n": len(found)', '"n": len(lines)', "F10"],
  ["records after a conflict are stored", "            break\n", "            continue\n", "F10"],
  ["a message that can't be read has no ack", "isinstance(error, Refused)", "False", "F16"],
  ["another gateway's id is taken", "if gw != gateway or stream is None", "if stream is None", "F17"],
  ["an older generation may deliver", '["generation"] != gen:', '["generation"] < 0:', "F19"],
  ["a gateway receives the messages of others", "pattern read bg/v1/%u/down/#", "pattern read bg/v1/#", "F29"],
  ["the will is ignored", 'message["session"] if message["online"] else None', 'message["session"]', "F30"],
  ["records are stored twice", ", PRIMARY KEY (stream, seq)", "", "F34"],
  ["a former gateway may deliver for ever", "at >= ended", "at < 0", "F36"],
];

it("the conformance kit catches each fault that is planted in the tutorial's service", async () => {
  const files = tutorialFiles();
  const waiting = [...FAULTS];
  const caught: string[] = [];
  const next = async (): Promise<void> => {
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) {
      const [fault, from, to] = one;
      const changed = Object.entries(files).map(([name, text]) => [name, text.replace(from, () => to)] as const);
      expect(
        changed.some(([name, text]) => text !== files[name]),
        fault,
      ).toBe(true);
      const undos: (() => unknown)[] = [];
      try {
        const url = await startTutorial(Object.fromEntries(changed), (undo) => undos.push(undo));
        const failed = (await runKit({ url, is_first: true })).find(({ result }) => result === "fail");
        caught.push(`${fault}: ${failed?.id ?? "not caught"}`);
      } finally {
        for (const undo of undos.reverse()) await undo();
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, next));
  expect(FAULTS.length).toBeGreaterThanOrEqual(20);
  expect(caught.sort()).toEqual(FAULTS.map(([fault, , , check]) => `${fault}: ${check}`).sort());
});
