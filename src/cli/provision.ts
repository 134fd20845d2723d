import { readFileSync } from "node:fs";
import { render } from "../domain/messages/render.ts";
import { normalizeSerial } from "../domain/booth.ts";
import { shownVersions } from "../domain/summary.ts";
import type { EpochMs, Serial } from "../domain/units.ts";
import type { BoothChoice, BoothStatus } from "../domain/status.ts";
import { type Agent, agentOf } from "../tools/agent-client.ts";
import { type Call, CommandError, EXIT, type Io, type Run, type Values, mustAgree } from "../tools/command.ts";
import { follow } from "./follow.ts";
import { textOption } from "../tools/options.ts";
import { print } from "../tools/print.ts";
import { timeText, zoneOf } from "./time.ts";
import { linesText, sayings } from "../tools/texts.ts";

/** States that end the command, because they don't change soon without further action. */
const SETTLED = new Set("active queued conflict not_found denied suspended released decommissioned".split(" "));

export const provisionCommand: Run = async (call) => {
  const { values, operands, io } = call;
  const agent = await agentOf(call);
  const serial = normalizeSerial(operands[0] ?? (await io.ask("Serial number on the booth's nameplate: ")) ?? "");
  if (serial === null)
    throw new CommandError(
      "give the serial number: letters, digits and single dashes, such as ABCD-123-123",
      EXIT.usage,
    );
  const named = await boothsNamed(agent, textOption(values, "booth"));
  const by = textOption(values, "by") ?? io.environment["USER"] ?? "technician";
  const ask: Following = {
    agent,
    io,
    ...named,
    by,
    replace: values["replace"] === true,
    quiet: values["json"] === true,
  };
  const last = await enterAndFollow(ask, serial, values);
  const { state, possible_at } = last.provisioning;
  // Counts pending states as done, because the agent continues without the command.
  const isDone = state === "active" || state === "queued" || possible_at !== undefined;
  const shown = last.plc.shows_serial;
  if (isDone && shown !== null && shown !== last.serial) {
    io.err(`  note: the PLC calls itself ${shown}; from now on, the agent expects this name from the booth's PLC\n`);
  }
  if (ask.quiet) print(call, last, () => "");
  return isDone ? EXIT.ok : EXIT.failed;
};

interface Following {
  readonly agent: Agent;
  readonly io: Io;
  readonly booth?: string | undefined;
  readonly service_booth?: string | undefined;
  readonly by: string;
  readonly replace: boolean;
  readonly quiet: boolean;
}

/** Parses --booth: a booth of the gateway, the service's id of a booth, or both as OWN/ID. */
async function boothsNamed(
  agent: Agent,
  named: string | undefined,
): Promise<{ readonly booth?: string | undefined; readonly service_booth?: string | undefined }> {
  if (named === undefined) return {};
  const { booths } = await agent.status();
  const own = booths.find(({ booth }) => named === booth || named.startsWith(`${booth}/`))?.booth;
  if (own === undefined) return { service_booth: named };
  return named === own ? { booth: own } : { booth: own, service_booth: named.slice(own.length + 1) };
}

/** Enters the serial number and follows the claim. If the service rejects the key, asks a technician once for another key. */
async function enterAndFollow(ask: Following, serial_number: Serial, values: Values): Promise<BoothStatus> {
  const { agent, io, booth, service_booth, by, replace, quiet } = ask;
  const said = { by, note: "confirmed by --yes", replace, service_booth };
  const body = { serial_number, booth, ...(values["yes"] === true ? { confirm: said } : {}) };
  const enter = (api_key: string | undefined) => agent.post("/api/booths_provisioning", { ...body, api_key });
  await enter(keyFrom(textOption(values, "key-file")));
  const first = await followClaim(ask);
  if (first.provisioning.state !== "denied" || quiet) return first;
  const key = (await io.ask("API key that may provision booths of this account (empty: leave it): "))?.trim() ?? "";
  if (key === "") return first;
  await enter(key);
  return followClaim(ask);
}

/** Reads the key from a file, because every user of the machine could read a key on the command line. */
function keyFrom(file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  try {
    const key = readFileSync(file === "-" ? 0 : file, "utf8").trim();
    if (key !== "") return key;
  } catch (error) {
    throw new CommandError(`${file} can't be read`, EXIT.usage, error);
  }
  throw new CommandError(`${file} is empty: put the API key into it`, EXIT.usage);
}

/** Shows each step of the claim until it reaches a state that ends the command. */
async function followClaim(ask: Following): Promise<BoothStatus> {
  let replaced = false;
  return follow(ask, async (tell) => {
    const booth = await ask.agent.booth(ask.booth);
    const { state, reason, advice, possible_at } = booth.provisioning;
    const step = state.replaceAll("_", " ");
    const why = sayings(render(reason), possible_at === undefined ? "" : possibleText(possible_at), render(advice));
    tell(step, why === "" ? step : `${step}: ${why}`);
    if (state === "awaiting_confirm") await confirm(ask, booth);
    else if (state === "conflict" && possible_at === undefined && ask.replace && !replaced) {
      replaced = true;
      await replace(ask);
    } else if (SETTLED.has(state)) return booth;
    return null;
  });
}

function possibleText(at: EpochMs): string {
  return `possible at ${timeText(at, zoneOf({}))} if it says nothing more`;
}

async function confirm(ask: Following, booth: BoothStatus): Promise<void> {
  const { account, facility, booth_id, choices = [] } = booth.provisioning;
  const versions = shownVersions(booth.now);
  const card = [
    `  serial    ${booth.serial ?? ""}   (the PLC says: ${booth.plc.shows_serial ?? "nothing"})`,
    `  account   ${account ?? "?"}`,
    `  facility  ${facility ?? "?"}`,
    `  booth     ${booth_id ?? "?"}`,
    `  PLC       program ${versions.plc_program ?? "?"} ${versions.plc_program_revision ?? "?"}, firmware ${versions.firmware_version ?? "?"}`,
  ];
  ask.io.err(linesText([...card, ...choices.map(choiceText)]));
  const again =
    choices.length === 0
      ? "compare the card above and run it again with --yes"
      : `the service doesn't say which booth has the serial number: compare, and run it again with --yes --booth ID, which is one of ${choices.map(({ name }) => name).join(", ")}`;
  const service_booth = choices.length > 1 ? await choose(ask, choices, again) : undefined;
  await mustAgree(ask.io, {
    question: "Is this the booth next to this gateway?",
    nobody: again,
    no: "not confirmed; run it again with the right serial number",
  });
  await sayConfirmed(ask, { note: "confirmed at the prompt", replace: ask.replace, service_booth });
}

function choiceText({ name, account, facility, brand, model }: BoothChoice): string {
  const known = [account, facility, brand, model].filter((text) => text !== null).join(", ");
  return `  may be    ${name}   ${known}`;
}

async function choose(
  { service_booth, io }: Following,
  choices: readonly BoothChoice[],
  again: string,
): Promise<string> {
  const said = service_booth ?? (await io.ask("Which of them is it? "))?.trim();
  if (said === undefined) throw new CommandError(`No terminal to ask on: ${again}`);
  const found = choices.find(({ name }) => name === said);
  if (found === undefined) throw new CommandError(`"${said}" is none of ${choices.map(({ name }) => name).join(", ")}`);
  return found.name;
}

/** Asks whether this gateway replaces the gateway to which the booth is bound. */
async function replace(ask: Following): Promise<void> {
  await mustAgree(ask.io, {
    question: "Does this gateway replace the other one? The records of the other one are kept.",
    nobody: "run it again with --replace --yes",
    no: "the booth stays with the other gateway",
  });
  await sayConfirmed(ask, { note: "takes the other gateway's place, confirmed at the prompt", replace: true });
}

async function sayConfirmed(
  ask: Following,
  said: { note: string; replace: boolean; service_booth?: string | undefined },
): Promise<void> {
  await ask.agent.post("/confirm", { by: ask.by, ...said, booth: ask.booth });
}

export const releaseCommand: Run = (call) => leave(call, "released");
export const decommissionCommand: Run = (call) => leave(call, "decommissioned");

async function leave({ values, io }: Call, to: "released" | "decommissioned"): Promise<number> {
  const agent = await agentOf({ values, io });
  const booth = textOption(values, "booth");
  const before = await agent.booth(booth);
  if (values["yes"] !== true) await askToLeave(before, io);
  await agent.post("/release", { booth, to, wrong_serial: values["wrong-serial"] === true });
  const quiet = values["json"] === true;
  const last = await follow({ io, quiet, still: "waiting" }, async (tell) => {
    const now = await agent.booth(booth);
    const isLeft = now.provisioning.state === to;
    const waiting = (now.log.newest_seq - now.log.acked_seq).toString();
    tell(isLeft ? to : render(now.provisioning.reason) || `${waiting} records to deliver first`);
    return isLeft ? now : null;
  });
  if (quiet) print({ values, io }, last, () => "");
  return EXIT.ok;
}

async function askToLeave({ booth, serial, provisioning }: BoothStatus, io: Io): Promise<void> {
  const what = `${serial ?? "no serial number"}, ${[provisioning.account, provisioning.facility].filter(Boolean).join(", ")}`;
  const question = `Give ${booth} (${what}) up?`;
  await mustAgree(io, { question, nobody: "run it again with --yes", no: "nothing was changed" });
}
