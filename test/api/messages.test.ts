import fc from "fast-check";
import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { OPERATIONS } from "../../src/api/operations.ts";
import { serveSocket } from "../../src/api/server.ts";
import { loadProfile } from "../../src/config/profile.ts";
import { message, type Message, type MessageArg, type MessageCode } from "../../src/domain/message.ts";
import english from "../../src/domain/messages/en.json" with { type: "json" };
import { render, rendered } from "../../src/domain/messages/render.ts";
import { requestOf } from "../../src/api/report.ts";
import { valuesOf } from "../house/message-args.ts";
import { activeSite, boothOf, MINUTE } from "../support/active-site.ts";
import { messagesIn, type Heard } from "../support/heard-messages.ts";
import { answerReport, openSource } from "../support/figures.ts";
import { temporaryFolder } from "../support/temporary.ts";
import { SERIAL } from "../support/virtual-service.ts";

const CODES = Object.keys(english).filter((code): code is MessageCode => !code.endsWith(".page"));
const BUSY = message("plc.busy");

/** Any value that a message may have. */
const words = fc.string({ maxLength: 12 });
const anyValue: fc.Arbitrary<MessageArg> = fc.oneof(
  words,
  fc.nat(),
  fc.constant(BUSY),
  fc.array(fc.oneof(words, fc.constant(BUSY)), { maxLength: 3 }),
);

/** Any message of this code. */
function anyOf(code: MessageCode): fc.Arbitrary<Message> {
  const values = [...valuesOf(english[code])].map(
    ([name, type]) => [name, type === "number" ? fc.nat() : anyValue] as const,
  );
  return fc.record(Object.fromEntries(values)).map((args) => ({ code, args }));
}

it("an API answer contains a message as English text, and with said=true also as code and values", () => {
  const any = fc.constantFrom(...CODES).chain(anyOf);
  fc.assert(
    fc.property(any, (reason) => {
      expect(rendered({ reason })).toEqual({ reason: render(reason) });
      const body = rendered({ reason, reasons: [reason, "of a server"] }, { said: true });
      const { faults, said } = messagesIn(body);
      expect(faults).toEqual([]);
      expect(said.map(({ code }) => code)).toEqual([reason.code, reason.code]);
      expect(said.map(({ text }) => text)).toEqual([render(reason, "page"), render(reason, "page")]);
    }),
    { numRuns: 1_000 },
  );
});

it("an API answer with said=true adds each message under its field name, and leaves all other fields unchanged", () => {
  const plain = { advice: "call Ann", kind: "down", when: null, count: 3 };
  const reason = message("bind.unverified", { missing: message("bind.missing.ack") });
  const body = { booths: [{ ...plain, reason, reasons: [message("fit.more_odd", { count: 2 }), "?"] }] };
  const text = "the binding was not verified within 15 min: the service has not acknowledged any readings";
  const missing = { code: "bind.missing.ack", args: {}, text: "the service has not acknowledged any readings" };
  const said = {
    reason: { code: "bind.unverified", args: { missing }, text },
    reasons: [{ code: "fit.more_odd", args: { count: 2 }, text: "2 more values are implausible" }, null],
  };
  const english = { ...plain, reason: text, reasons: ["2 more values are implausible", "?"] };
  expect(rendered(body, { said: true })).toEqual({ booths: [{ ...english, said }] });
  expect(rendered(body)).toEqual({ booths: [english] });
});

it("the web page's version of a message contains no CLI command, even if the message's usual text contains one", () => {
  const body = rendered({ error: message("ask.locked", { minutes: 5 }) }, { said: true }) as Record<string, unknown>;
  expect(body["error"]).toContain("booth-gateway page");
  expect(messagesIn(body).said.map(({ text }) => text)).toEqual([expect.not.stringContaining("booth-gateway")]);
});

const PROFILES = new URL("../../config/profiles/", import.meta.url);

it("every tag label in a shipped profile is in the message catalogue under the code that the page derives from it", () => {
  const files = readdirSync(PROFILES).filter((name) => name.endsWith(".yaml"));
  const labels = files.flatMap((name) => {
    const { tags } = loadProfile(fileURLToPath(new URL(name, PROFILES)));
    return tags.filter(({ name: tag, label }) => label !== tag).map(({ label }) => label);
  });
  expect(labels.length).toBeGreaterThan(60);
  const codeOf = (label: string): string => `tag.${label.toLowerCase().replaceAll(/\W+/g, "_").replace(/_$/, "")}`;
  const texts: Readonly<Record<string, string>> = english;
  expect([...new Set(labels)].filter((label) => texts[codeOf(label)] !== label)).toEqual([]);
});

type Wish = readonly [method: string, path: string, body: unknown];

/** Asks the agent's socket. Resolves with the text of the answer; of a stream, with its first events. */
async function textFrom(socketPath: string, [method, path, body]: Wish): Promise<string> {
  const call = request({ socketPath, method, path, headers: { "content-type": "application/json" } });
  call.end(body === undefined ? undefined : JSON.stringify(body));
  const [answer] = (await once(call, "response")) as [IncomingMessage];
  let text = "";
  for await (const part of answer) {
    text += String(part);
    if (text.includes("event: readings") && text.endsWith("\n\n")) break;
  }
  call.destroy();
  return text;
}

/** The JSON values in an answer: the whole of it, or the data of each event. */
function valuesIn(text: string): readonly unknown[] {
  if (text.startsWith("event:"))
    return [...text.matchAll(/^data: (.*)$/gm)].map(([, data = "null"]) => JSON.parse(data) as unknown);
  return text.startsWith("{") || text.startsWith("[") ? [JSON.parse(text)] : [text];
}

const QUERY = "tags=mode,air_temperature&figure=cycles&booth=booth-1";
/** Requests that are refused, each for another reason, or that begin something. */
const WISHES: readonly Wish[] = [
  ["GET", "/nothing", undefined],
  ["GET", "/api/nothing", undefined],
  ["DELETE", "/status", undefined],
  ["GET", "/readings?booth=none", undefined],
  ["POST", "/api/booths_provisioning", { serial_number: "A_B" }],
  ["POST", "/api/booths_provisioning", { serial_number: "ZZZZ-1" }],
  ["POST", "/api/booths_provisioning", { serial_number: SERIAL, api_key: "k" }],
  ["PUT", `/api/booths_provisioning/${SERIAL}`, { status: "decommissioned" }],
  ["PUT", "/api/booths_provisioning/ZZZZ-1", { status: "released" }],
  ["POST", "/release", { booth: "booth-1", to: "decommissioned" }],
  ["POST", "/filters/changed", { booth: "booth-1", id: "x", filter: "exhaust_filter", minutes_ago: 0, by: "alex" }],
  ["POST", "/reconcile", { booth: "booth-1", day: "2099-01-01" }],
  ["POST", "/reconcile", { booth: "booth-1" }],
  ["POST", "/rebuild", { booth: "booth-1" }],
  ["POST", "/reload", {}],
  ["POST", "/notices/test", {}],
  ["POST", "/page", {}],
  ["POST", "/plc/probe", { address: "192.0.2.1" }],
  ["GET", "/workshop", undefined],
  ["GET", "/setup", undefined],
];

it("every answer of the local API contains only rendered messages, and said=true adds only codes and values", async () => {
  const { site, agent, folder } = await activeSite({ for_ms: 5 * MINUTE });
  const socketPath = join(temporaryFolder(), "agent.sock");
  const reader = openSource(folder, site.clock.wall());
  onTestFinished(() => reader.close());
  const listener = await serveSocket(socketPath, {
    control: agent,
    log: () => [{ at: site.clock.wall(), level: "warn", text: message("plc.busy") }],
    reports: (asked) => {
      const { status, headers, body } = answerReport(requestOf(asked, agent.status()), reader.source.reader);
      const parts = (typeof body === "string" ? [body] : [...body]).map((part) => Buffer.from(part));
      return Promise.resolve({ status, headers, body: Readable.from(parts) as AsyncIterable<Buffer> });
    },
  });
  onTestFinished(() => listener.close());
  site.plc.fault = "refused";
  site.service.way.down = true;
  await site.clock.run(3 * MINUTE);
  expect(boothOf(agent).plc.kind).toBe("down");

  const reads = OPERATIONS.filter(({ method }) => method === "GET").map(
    ({ path }) => ["GET", path.replace("{id}", "booth-1").replace("{serial_number}", SERIAL), undefined] as const,
  );
  const codes = new Set<string>();
  for (const [method, path, body] of [...reads, ...WISHES]) {
    const query = path.includes("?") ? `${path}&` : `${path}?`;
    const plain = valuesIn(await textFrom(socketPath, [method, `${query}${QUERY}`, body]));
    const answer = valuesIn(await textFrom(socketPath, [method, `${query}${QUERY}&said=true`, body]));
    const heard: readonly Heard[] = answer.map((one) => messagesIn(one));
    expect([path, [...plain.map((one) => messagesIn(one)), ...heard].flatMap(({ faults }) => faults)]).toEqual([
      path,
      [],
    ]);
    for (const { code } of heard.flatMap(({ said }) => said)) codes.add(code);
    const isRead = method === "GET" && !["/metrics", "/events"].includes(path);
    if (isRead) expect([path, heard.map(({ without }) => without)]).toEqual([path, plain]);
  }
  expect([...codes]).toEqual(
    expect.arrayContaining([
      "plc.check.refused",
      "plc.busy",
      "ask.serial",
      "ask.unknown_path",
      "ask.root_decommission",
    ]),
  );
});
