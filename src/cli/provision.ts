import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { normaliseSerial } from "../core/serial.ts";
import type { BoothStatus } from "../core/types/status.ts";
import { askAgent, socketPath } from "./agent-client.ts";
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
  const booth = typeof values["booth"] === "string" ? { booth: values["booth"] } : {};
  const by = typeof values["by"] === "string" ? values["by"] : (io.environment["USER"] ?? "technician");
  const replace = values["replace"] === true;
  const confirm = values["yes"] === true ? { confirm: { by, note: "confirmed by --yes", replace } } : {};
  const entry: Entry = { socket, body: { serial_number: serial, ...booth, ...confirm } };
  await enter(entry, keyFrom(values["key-file"]));
  const following = { socket, booth: booth.booth, by, replace, quiet: values["json"] === true };
  const last = await followWithKey(entry, io, following);
  const isDone = last.provisioning.state === "active" || last.provisioning.state === "queued";
  const shown = last.plc.shows_serial;
  if (isDone && shown !== null && shown !== last.serial) {
    io.err(`  note: the PLC calls itself ${shown}; that is taken for this booth's PLC from now on\n`);
  }
  if (values["json"] === true) io.out(`${JSON.stringify(last, null, 2)}\n`);
  return isDone ? EXIT.ok : EXIT.failed;
};

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
  const { account, facility, booth_id } = booth.provisioning;
  const card = [
    `  serial    ${booth.serial ?? ""}   (the PLC says: ${booth.plc.shows_serial ?? "nothing"})`,
    `  account   ${account ?? "?"}`,
    `  facility  ${facility ?? "?"}`,
    `  booth     ${booth_id ?? "?"}`,
    `  PLC       program ${booth.now?.plc_program ?? "?"} ${booth.now?.plc_program_revision ?? "?"}, firmware ${booth.now?.firmware_version ?? "?"}`,
  ];
  io.err(`${card.join("\n")}\n`);
  await mustAgree(io, {
    question: "Is this the booth beside this box?",
    nobody: "compare the card above and run it again with --yes",
    no: "not confirmed; run it again with the right serial number",
  });
  await sayConfirmed(ask, { note: "confirmed at the prompt", replace: ask.replace });
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

async function sayConfirmed(ask: Following, said: { note: string; replace: boolean }): Promise<void> {
  const body = { by: ask.by, ...said, ...(ask.booth === undefined ? {} : { booth: ask.booth }) };
  await askAgent(ask.socket, { method: "POST", path: "/confirm", body });
}
