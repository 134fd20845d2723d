import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import type { MessageArg, Text } from "../../src/domain/message.ts";
import { rendered } from "../../src/domain/messages/render.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";
import { messagesIn } from "../support/heard-messages.ts";
import { memoryFolder } from "../support/temporary.ts";
import { virtualSite, type VirtualSite } from "../support/virtual-site.ts";

/** Collects all messages while a scenario is played, and checks that each has a text in every language of the page. */

const PAGE = new URL("../../src/api/page/texts/", import.meta.url);
const MESSAGES = new URL("../../src/domain/messages/", import.meta.url);
/** Mon 2026-03-02 07:40 in Denver. */
const BEFORE_WORK = Date.UTC(2026, 2, 2, 14, 40);
const HOURS = 8;
const LOOK_EVERY_MS = 10 * MINUTE_MS;
/** Fewer polls than usual, because the messages are the same. */
const POLL = { fast: { poll_interval_ms: 15_000 }, slow: { poll_interval_ms: 60_000 } };
/** The link is broken in every nth look, each time in another way. */
const TROUBLE_EVERY = 6;
const FAULTS = ["refused", "timeout", "reset"] as const;

type Catalogue = Readonly<Record<string, string>>;

interface Collected {
  readonly codes: Set<string>;
  /** Reasons for a value without quality, for which the page has texts of its own. */
  readonly whys: Set<string>;
  /** Texts for people that are no messages. */
  readonly words: Set<string>;
  readonly faults: Set<string>;
}

/** Fields with texts for people. */
const FIELDS = new Set(["reason", "advice", "error", "trouble", "missing", "reasons", "notes", "why"]);
/** Words of the simulated link, which are not the gateway's. */
const OTHERS = /^the simulated link failed/;
/** Reasons of the drivers for a bad value. The page has a text for each. */
const WHY = /^[a-z_]+\d?$/;

/** Returns the texts for people that an object has without a message. */
function wordsIn(body: unknown): readonly string[] {
  if (Array.isArray(body)) return body.flatMap(wordsIn);
  if (typeof body !== "object" || body === null) return [];
  const fields: Readonly<Record<string, unknown>> = { ...body };
  const said: object = typeof fields["said"] === "object" ? { ...fields["said"] } : {};
  return Object.entries(fields).flatMap(([name, one]) => {
    if (name === "said") return [];
    const isText = FIELDS.has(name) && !(name in said);
    return typeof one === "string" ? (isText && one !== "" ? [one] : []) : wordsIn(one);
  });
}

function codesIn({ code, args }: Exclude<Text, string>): readonly string[] {
  return [code, ...Object.values(args).flatMap(codesOf)];
}

function codesOf(arg: MessageArg): readonly string[] {
  if (typeof arg === "string" || typeof arg === "number") return [];
  return "code" in arg ? codesIn(arg) : arg.flatMap(codesOf);
}

function collect(answer: unknown, { codes, whys, words, faults }: Collected): void {
  const body = rendered(answer, { said: true });
  const heard = messagesIn(body);
  for (const fault of heard.faults) faults.add(fault);
  for (const said of heard.said) for (const code of codesIn(said)) codes.add(code);
  for (const text of wordsIn(body)) if (!OTHERS.test(text)) (WHY.test(text) ? whys : words).add(text);
}

async function listen(site: VirtualSite, heard: Collected): Promise<void> {
  const looks = (HOURS * 60 * MINUTE_MS) / LOOK_EVERY_MS;
  for (let look = 0; look < looks; look++) {
    // The fault lasts until the next look.
    site.plc.fault =
      look % TROUBLE_EVERY === 1 ? (FAULTS[Math.floor(look / TROUBLE_EVERY) % FAULTS.length] ?? null) : null;
    site.plc.bad_tags = look % TROUBLE_EVERY === 3 ? ["outdoor_temperature"] : [];
    await site.clock.run(LOOK_EVERY_MS);
    const status = site.control().status();
    collect(status, heard);
    for (const { booth } of status.booths) collect(site.control().readings(booth), heard);
  }
}

async function heardIn(scenario: string): Promise<Collected> {
  const folder = memoryFolder();
  const each = {
    commit_interval_ms: LOOK_EVERY_MS,
    summary_interval_ms: MINUTE_MS,
    heartbeat_interval_ms: LOOK_EVERY_MS,
  };
  const site = virtualSite({ folder, scenario, start: BEFORE_WORK, booth: { poll: POLL }, ...each });
  const heard: Collected = { codes: new Set(), whys: new Set(), words: new Set(), faults: new Set() };
  try {
    await site.start();
    await listen(site, heard);
    await site.stop();
  } finally {
    site.close();
  }
  return heard;
}

const languages = readdirSync(PAGE).flatMap((name) => /^([a-z]{2})\.json$/.exec(name)?.[1] ?? []);
const catalogue = (name: string, folder: URL): Catalogue =>
  JSON.parse(readFileSync(new URL(`${name}.json`, folder), "utf8")) as Catalogue;

/** These scenarios lead to every code that any scenario leads to. */
const SCENARIOS = ["sensor-faults", "short-bakes", "wrong-serial", "power-cycle-lost"];

it.each(SCENARIOS)(
  "in the scenario %s, every text of the gateway is a message with a translation in each language",
  async (name) => {
    const { codes, whys, words, faults } = await heardIn(name);
    expect([...faults, ...words]).toEqual([]);
    expect(codes.size).toBeGreaterThan(2);
    expect(languages.length).toBeGreaterThan(2);
    for (const language of languages) {
      const messages = catalogue(language, MESSAGES);
      const texts = catalogue(language, PAGE);
      const lacking = [...codes].filter((code) => messages[code] === undefined);
      expect([...lacking, ...[...whys].filter((why) => texts[`why.${why}`] === undefined)], language).toEqual([]);
    }
  },
);
