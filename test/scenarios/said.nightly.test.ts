import { readdirSync } from "node:fs";
import { expect, it } from "vitest";
import { FIELDS, saidOf, type Told } from "../../src/api/said.ts";
import { validationIncidents } from "../../src/reports/findings.ts";
import { openSource } from "../support/figures.ts";
import { memoryFolder } from "../support/temporary.ts";
import { virtualSite, type VirtualSite } from "../support/virtual-site.ts";
import { MINUTE_MS } from "../../src/domain/time.ts";

/** Collects all messages while a scenario is played, and checks that each has a text in every language of the page. */

const PAGE = new URL("../../src/api/page/texts/", import.meta.url);
/** Mon 2026-03-02 07:40 in Denver. */
const BEFORE_WORK = Date.UTC(2026, 2, 2, 14, 40);
const HOURS = 8;
const LOOK_EVERY_MS = 10 * MINUTE_MS;
/** Fewer polls than usual, because the messages are the same. */
const POLL = { fast: { poll_interval_ms: 15_000 }, slow: { poll_interval_ms: 60_000 } };
/** The link is broken in every nth check, each time in another way. */
const TROUBLE_EVERY = 6;
const FAULTS = ["refused", "timeout", "reset"] as const;

type Texts = Readonly<Record<string, string>>;

interface Heard {
  readonly codes: Set<string>;
  readonly whys: Set<string>;
  readonly unsaid: Set<string>;
}

/** Messages of the simulated link, which are not the gateway's. */
const OTHERS = /^the simulated link failed/;
/** Reasons of the drivers for a bad value. The page has a text for each. */
const WHY = /^[a-z_]+\d?$/;

/** Returns all texts in fields for messages. */
function textsIn(body: unknown, name = ""): readonly string[] {
  if (typeof body === "string") return FIELDS.has(name) && body !== "" ? [body] : [];
  if (Array.isArray(body)) return body.flatMap((one) => textsIn(one, name));
  if (typeof body !== "object" || body === null) return [];
  return Object.entries(body).flatMap(([key, value]) => textsIn(value, key));
}

function codesIn(told: Told): readonly string[] {
  if (!("code" in told)) return told.flatMap((one) => (typeof one === "string" ? [] : codesIn(one)));
  const inner = Object.values(told.args).flatMap((one) => (typeof one === "string" ? [] : codesIn(one)));
  return [told.code, ...inner];
}

function hear(body: unknown, { codes, whys, unsaid }: Heard): void {
  for (const text of textsIn(body)) {
    const said = saidOf(text);
    if (said === null && OTHERS.test(text)) continue;
    if (said === null) (WHY.test(text) ? whys : unsaid).add(text);
    else for (const code of codesIn(said)) codes.add(code);
  }
}

async function listen(site: VirtualSite, heard: Heard): Promise<void> {
  const looks = (HOURS * 60 * MINUTE_MS) / LOOK_EVERY_MS;
  for (let look = 0; look < looks; look++) {
    // The fault lasts until the next check.
    site.plc.fault =
      look % TROUBLE_EVERY === 1 ? (FAULTS[Math.floor(look / TROUBLE_EVERY) % FAULTS.length] ?? null) : null;
    site.plc.bad_tags = look % TROUBLE_EVERY === 3 ? ["outdoor_temperature"] : [];
    await site.clock.run(LOOK_EVERY_MS);
    const status = site.control().status();
    hear(status, heard);
    for (const { booth } of status.booths) hear(site.control().readings(booth), heard);
  }
}

async function heardIn(scenario: string): Promise<Heard> {
  const folder = memoryFolder();
  const each = {
    commit_interval_ms: LOOK_EVERY_MS,
    summary_interval_ms: MINUTE_MS,
    heartbeat_interval_ms: LOOK_EVERY_MS,
  };
  const site = virtualSite({ folder, scenario, start: BEFORE_WORK, booth: { poll: POLL }, ...each });
  const heard: Heard = { codes: new Set(), whys: new Set(), unsaid: new Set() };
  try {
    await site.start();
    await listen(site, heard);
    await site.stop();
    const { source, close } = openSource(folder, site.clock.truth());
    hear(validationIncidents(source, { start: BEFORE_WORK, end: site.clock.truth() }), heard);
    close();
  } finally {
    site.close();
  }
  return heard;
}

const languages = readdirSync(PAGE).filter((name) => /^[a-z]{2}\.js$/.test(name));

/** These scenarios produce every code that any scenario produces. */
const SCENARIOS = ["sensor-faults", "short-bakes", "wrong-serial", "power-cycle-lost"];

it.each(SCENARIOS)("%s: every message has a code and a text in each language", async (name) => {
  const { codes, whys, unsaid } = await heardIn(name);
  expect([...unsaid]).toEqual([]);
  expect(codes.size).toBeGreaterThan(2);
  for (const language of languages) {
    const { SAYINGS, TEXTS } = (await import(new URL(language, PAGE).href)) as Record<"SAYINGS" | "TEXTS", Texts>;
    // The agent's own language needs no translation.
    const lacking = language === "en.js" ? [] : [...codes].filter((code) => SAYINGS[code] === undefined);
    expect([...lacking, ...[...whys].filter((why) => TEXTS[`why.${why}`] === undefined)], language).toEqual([]);
  }
});
