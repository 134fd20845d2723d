import { expect, it } from "vitest";
import { render } from "../../src/domain/messages/render.ts";
import { setupCommand } from "../../src/cli/setup.ts";
import { CommandError, type Io } from "../../src/tools/command.ts";
import { runningAgent } from "../api/box-http.ts";
import { quietIo } from "./say.ts";
import { freshBox, PROVISION_KEY, SERIAL, type RealSite } from "../support/real-site.ts";

/** Answers questions in their order, and leaves the command at the first question without an answer. */
function person(replies: readonly (readonly [question: RegExp, reply: string])[]) {
  const left = [...replies];
  const said: string[] = [];
  const leaving = new CommandError("left");
  const io = quietIo({
    out: (text) => void said.push(render(text)),
    err: (text) => void said.push(render(text)),
    isTerminal: true,
    environment: { USER: "alex" },
    ask: (question) => {
      const next = left.shift();
      if (next === undefined) return Promise.reject(leaving);
      expect(render(question)).toMatch(next[0]);
      return Promise.resolve(next[1]);
    },
  });
  return { io, said: () => said.join(""), left };
}

const setUp = (site: RealSite, io: Io, values: Readonly<Record<string, string>> = {}): Promise<number> =>
  setupCommand({ values: { config: site.configFile, ...values }, operands: [], io });

it("the setup command leads a user from an unconfigured gateway to a bound booth, and can be continued after an interruption", async () => {
  const site = await freshBox();
  await runningAgent(site);
  const at = `127.0.0.1:${site.plc.port}`;
  const first = person([
    [/Address of the monitoring service/, site.service.url],
    [/API key/, PROVISION_KEY],
    [/^PLC/, "127.0.0.1:9"],
    [/^PLC/, at],
  ]);
  await expect(setUp(site, first.io)).rejects.toThrow("left");
  expect(first.said()).toContain("service   none yet; no key yet");
  expect(first.said()).toContain("Modbus TCP at 127.0.0.1:9: not available.");
  expect(first.said()).toContain(`Modbus TCP at ${at}: answers`);
  const second = person([
    [new RegExp(`Go on with the PLC at ${at}`), "y"],
    [/Which of them \[1\]/, ""],
    [/Is this right: click-booth/, "y"],
    [/Time zone of the booth/, "America/Denver"],
    [/Serial number on the booth's nameplate/, SERIAL],
    [/Is this the booth next to this gateway/, "y"],
  ]);
  expect(await setUp(site, second.io)).toBe(0);
  expect(second.left).toEqual([]);
  expect(second.said()).toMatch(/1 {2}click-booth +\d+ % {2}.*all \d+ tags answer/);
  expect(second.said()).toContain("booth-1: the PLC answers, its settings stay");
  const status = await site.status();
  expect(status?.booths[0]).toMatchObject({ booth: "booth-1", serial: SERIAL, provisioning: { state: "active" } });
  expect(JSON.stringify([first.said(), second.said()])).not.toContain(PROVISION_KEY);
});

it("the setup command rejects a service URL without TLS, and changes nothing", async () => {
  const site = await freshBox();
  await runningAgent(site);
  const nobody = person([[/Address of the monitoring/, "http://monitoring.example.com"]]);
  nobody.left.push([/API key/, ""]);
  await expect(setUp(site, nobody.io)).rejects.toThrow("not encrypted");
  const status = await site.status();
  expect(status?.lacks).toEqual(["service", "booth"]);
});
