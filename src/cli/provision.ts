import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { normaliseSerial } from "../domain/serial.ts";
import type { AgentStatus, BoothChoice, BoothStatus } from "../domain/status.ts";
import { askAgent, socketPath } from "../tools/agent-client.ts";
import { CommandError, EXIT, type Io, type Run } from "./command.ts";
import { LOOK_EVERY_MS, lookAtBooth, mustAgree, PATIENCE_MS } from "./one-booth.ts";
import { lasting } from "./text.ts";

/** States in which waiting in front of the screen brings nothing. */
const SETTLED = new Set([
  "active",
  "queued",
  "conflict",
  "not_found",
  "denied",
  "suspended",
  "released",
  "decommissioned",
]);

export const provisionCommand: Run = async ({ values, operands, io }) => {
  const socket = await socketPath(values, io);
  const serial = normaliseSerial(operands[0] ?? (await io.ask("Serial number on the booth's nameplate: ")) ?? "");
  if (serial === null)
    throw new CommandError("give the serial number: letters, digits and single dashes, like ABCD-123-123", EXIT.usage);
  const { booth, service_booth } = await boothsNamed(socket, values["booth"]);
  const by = typeof values["by"] === "string" ? values["by"] : (io.environment["USER"] ?? "technician");
  const replace = values["replace"] === true;
  const said = { by, note: "confirmed by --yes", replace, service_booth };
  const confirm = values["yes"] === true ? { confirm: said } : {};
  const entry: Entry = { socket, body: { serial_number: serial, booth, ...confirm } };
  await enter(entry, keyFrom(values["key-file"]));
  const following = { socket, booth, service_booth, by, replace, quiet: values["json"] === true };
  const last = await followWithKey(entry, io, following);
  const isDone = last.provisioning.state === "active" || last.provisioning.state === "queued";
  const shown = last.plc.shows_serial;
  if (isDone && shown !== null && shown !== last.serial) {
    io.err(`  note: the PLC calls itself ${shown}; that is taken for this booth's PLC from now on\n`);
  }
  if (values["json"] === true) io.out(`${JSON.stringify(last, null, 2)}\n`);
  return isDone ? EXIT.ok : EXIT.failed;
};

/** --booth names one of the gateway's own booths, or one of the service's by its id; OWN/ID names both. */
async function boothsNamed(
  socket: string,
  named: string | boolean | undefined,
): Promise<{ readonly booth?: string | undefined; readonly service_booth?: string | undefined }> {
  if (typeof named !== "string") return {};
  // The agent answers its own shape.
  const { booths } = (await askAgent(socket, { method: "GET", path: "/status" })) as AgentStatus;
  const own = booths.find(({ booth }) => named === booth || named.startsWith(`${booth}/`))?.booth;
  if (own === undefined) return { service_booth: named };
  return named === own ? { booth: own } : { booth: own, service_booth: named.slice(own.length + 1) };
}

interface Entry {
  readonly socket: string;
  readonly body: Readonly<Record<string, unknown>>;
}

async function enter({ socket, body }: Entry, api_key: string | null): Promise<void> {
  const whole = api_key === null ? body : { ...body, api_key };
  await askAgent(socket, { method: "POST", path: "/api/booths_provisioning", body: whole });
}

/** Never from the command line itself, where every user of the machine reads it. */
function keyFrom(file: string | boolean | undefined): string | null {
  if (typeof file !== "string") return null;
  try {
    const key = readFileSync(file === "-" ? 0 : file, "utf8").trim();
    if (key !== "") return key;
  } catch (error) {
    throw new CommandError(`${file} can't be read`, EXIT.usage, error);
  }
  throw new CommandError(`${file} is empty: put the API key into it`, EXIT.usage);
}

/** Where the service refuses the key, or there is none, a technician may type one, once. */
async function followWithKey(entry: Entry, io: Io, following: Following): Promise<BoothStatus> {
  const first = await follow(following, io);
  if (first.provisioning.state !== "denied" || following.quiet) return first;
  const key = (await io.ask("API key that may provision booths of this account (empty: leave it): "))?.trim() ?? "";
  if (key === "") return first;
  await enter(entry, key);
  return follow(following, io);
}

interface Following {
  readonly socket: string;
  readonly booth: string | undefined;
  readonly service_booth: string | undefined;
  readonly by: string;
  readonly replace: boolean;
  readonly quiet: boolean;
}

/** Ticks off each step with its time until nothing more comes by waiting. */
async function follow(ask: Following, io: Io): Promise<BoothStatus> {
  const started = performance.now();
  let shown = "";
  let replaced = false;
  for (;;) {
    const booth = await lookAtBooth(ask.socket, ask.booth);
    const { state, reason, advice } = booth.provisioning;
    if (state !== shown && !ask.quiet) {
      const why = [reason, advice].filter((text) => text !== "").join("; ");
      io.out(
        `  ${lasting(performance.now() - started).padStart(8)}  ${state.replaceAll("_", " ")}${why === "" ? "" : `: ${why}`}\n`,
      );
    }
    shown = state;
    if (state === "awaiting_confirm") await confirm(ask, booth, io);
    else if (state === "conflict" && ask.replace && !replaced) {
      replaced = true;
      await replace(ask, io);
    } else if (SETTLED.has(state)) return booth;
    if (performance.now() - started > PATIENCE_MS) {
      throw new CommandError(
        `still ${state.replaceAll("_", " ")}; it goes on by itself, "booth-gateway status" shows how`,
      );
    }
    await delay(LOOK_EVERY_MS, undefined, { signal: io.signal });
  }
}

async function confirm(ask: Following, booth: BoothStatus, io: Io): Promise<void> {
  const { account, facility, booth_id, choices = [] } = booth.provisioning;
  const card = [
    `  serial    ${booth.serial ?? ""}   (the PLC says: ${booth.plc.shows_serial ?? "nothing"})`,
    `  account   ${account ?? "?"}`,
    `  facility  ${facility ?? "?"}`,
    `  booth     ${booth_id ?? "?"}`,
    `  PLC       program ${booth.now?.plc_program ?? "?"} ${booth.now?.plc_program_revision ?? "?"}, firmware ${booth.now?.firmware_version ?? "?"}`,
  ];
  io.err(`${[...card, ...choices.map(choiceText)].join("\n")}\n`);
  const again =
    choices.length === 0
      ? "compare the card above and run it again with --yes"
      : `the service doesn't say which booth has the serial number: compare, and run it again with --yes --booth ID, which is one of ${choices.map(({ name }) => name).join(", ")}`;
  const service_booth = choices.length > 1 ? await choose(ask, io, { choices, again }) : undefined;
  await mustAgree(io, {
    question: "Is this the booth beside this box?",
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
  { service_booth }: Following,
  io: Io,
  { choices, again }: { readonly choices: readonly BoothChoice[]; readonly again: string },
): Promise<string> {
  const said = service_booth ?? (await io.ask("Which of them is it? "))?.trim();
  if (said === undefined) throw new CommandError(`nobody to ask: ${again}`);
  const found = choices.find(({ name }) => name === said);
  if (found === undefined) throw new CommandError(`"${said}" is none of ${choices.map(({ name }) => name).join(", ")}`);
  return found.name;
}

/** Another gateway holds the booth: whoever types here says that this one takes its place. */
async function replace(ask: Following, io: Io): Promise<void> {
  await mustAgree(io, {
    question: "Does this gateway take the place of the other one? What that one recorded stays.",
    nobody: "run it again with --replace --yes",
    no: "the booth stays with the other gateway",
  });
  await sayConfirmed(ask, { note: "takes the other gateway's place, confirmed at the prompt", replace: true });
}

async function sayConfirmed(
  ask: Following,
  said: { note: string; replace: boolean; service_booth?: string | undefined },
): Promise<void> {
  const body = { by: ask.by, ...said, ...(ask.booth === undefined ? {} : { booth: ask.booth }) };
  await askAgent(ask.socket, { method: "POST", path: "/confirm", body });
}
