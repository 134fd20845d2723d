import type { ModbusFinding, ProbeFinding } from "../tools/probe-modbus.ts";
import type { Looked } from "../tools/find-plc.ts";
import type { Ranking } from "../tools/rank-profiles.ts";
import type { RankedProfile, TagVerdict } from "../tools/rules/rank.ts";
import type { BodyOf } from "../contract/local.ts";
import { render } from "../domain/messages/render.ts";
import { MODBUS_PORT } from "../domain/plc-address.ts";
import type { SetUpStatus } from "../domain/set-up.ts";
import { type Agent, agentOf } from "../tools/agent-client.ts";
import { type Call, CommandError, EXIT, type Io, type Run } from "../tools/command.ts";
import { durationText, linesText } from "../tools/texts.ts";
import { follow } from "./follow.ts";
import { textOption } from "../tools/options.ts";
import { print, tableText } from "../tools/print.ts";
import { provisionCommand } from "./provision.ts";

type Near = SetUpStatus & {
  readonly nearby: {
    readonly subnets: readonly { readonly cidr: string; readonly hosts: number }[];
    readonly lines: readonly string[];
  };
};
type Link = Omit<BodyOf<"set_up_rank">, "said">;

/** The answers so far. The agent keeps them, and the page or a later run of the command can continue from them. */
interface Draft {
  readonly id?: string;
  readonly link?: Link;
  /** The texts of the device's identification. */
  readonly said?: readonly string[];
  /** The chosen profile; null if none was chosen yet for this PLC. */
  readonly profile?: string | null;
  readonly tz?: string;
}

interface Talk {
  readonly agent: Agent;
  readonly io: Io;
}

/** The longest time without an answer while the agent tries every profile on the PLC, which takes up to two minutes. */
const LOOKS_FOR_MS = 300_000;

/** Runs `booth-gateway setup`: the same steps as on the page, with the same operations of the agent. */
export const setupCommand: Run = async (call) => {
  const { values, io } = call;
  const agent = await agentOf(call);
  const settled = values["keep"] === true || values["back"] === true;
  if (settled) await agent.post("/setup/settle", { keep: values["keep"] === true }, LOOKS_FOR_MS);
  const status = await agent.get<Near>("/setup");
  if (settled || values["json"] === true) {
    print(call, status, overview);
    return EXIT.ok;
  }
  io.err(overview(status));
  return walk({ agent, io }, status, call);
};

async function walk(talk: Talk, status: Near, call: Call): Promise<number> {
  if (status.trial === null) {
    if (status.service.url === null || !status.service.has_key) await enterService(talk, status.service);
    const draft = await answers(talk, status, textOption(call.values, "booth"));
    const { id, profile, link, tz } = draft;
    await talk.agent.post("/setup/booth", { id, profile, ...link, tz }, LOOKS_FOR_MS);
  }
  const booth = await proven(talk);
  const found = await talk.agent.booth(booth);
  if (found.provisioning.generation !== null) return EXIT.ok;
  return provisionCommand({ ...call, values: { ...call.values, booth }, operands: [] });
}

/** Asks for each answer that is missing or not confirmed. */
async function answers(talk: Talk, { nearby, ...status }: Near, named: string | undefined): Promise<Draft> {
  const { agent } = talk;
  let draft = status.draft as Draft;
  const keep = async (more: Draft): Promise<void> => {
    draft = { ...draft, ...more };
    await agent.put("/setup/draft", { draft });
  };
  await keep({ id: named ?? draft.id ?? freeName(status) });
  if (draft.link === undefined || !(await agreed(talk, `Go on with the PLC at ${linkName(draft.link)}?`))) {
    await keep({ ...(await askLink(talk, nearby)), profile: null });
  }
  if ((draft.profile ?? null) === null || !(await agreed(talk, `Go on with the profile ${draft.profile ?? ""}?`))) {
    await keep({ profile: await askProfile(talk, draft) });
  }
  const zone = draft.tz ?? Intl.DateTimeFormat().resolvedOptions().timeZone;
  await keep({ tz: (await asked(talk, `Time zone of the booth [${zone}]: `)) || zone });
  return draft;
}

function freeName({ booths }: SetUpStatus): string {
  const taken = booths.map(({ booth }) => String(booth));
  return (
    Array.from({ length: taken.length + 1 }, (_, i) => `booth-${i + 1}`).find((name) => !taken.includes(name)) ?? ""
  );
}

async function enterService(talk: Talk, { url, has_key }: SetUpStatus["service"]): Promise<void> {
  const typed =
    url === null ? await asked(talk, "Address of the monitoring service, https://... (empty: later): ") : "";
  const api_key = has_key
    ? ""
    : await asked(talk, "API key that may provision booths of this account (empty: later): ");
  if (typed === "" && api_key === "") return;
  const body = { ...(typed === "" ? {} : { url: typed }), ...(api_key === "" ? {} : { api_key }) };
  await talk.agent.post("/setup/service", body, LOOKS_FOR_MS);
}

/** Asks until a PLC is entered or found. */
async function askLink(talk: Talk, nearby: Near["nearby"]): Promise<Draft> {
  const hosts = nearby.subnets.reduce((sum, one) => sum + one.hosts, 0);
  talk.io.err(
    linesText([
      "Where is the PLC?",
      "  an address                like 192.0.2.10, plc.example:502 or opc.tcp://192.0.2.10:4840",
      hosts === 0
        ? null
        : `  find                      looks at ${hosts} addresses of ${nearby.subnets.map(({ cidr }) => cidr).join(", ")}`,
      nearby.lines.length === 0 ? null : `  serial                    looks on ${nearby.lines.join(", ")}`,
    ]),
  );
  for (;;) {
    const typed = await asked(talk, "PLC: ");
    const found = typed === "" ? null : await linkBy(talk, typed, hosts).catch(reported(talk));
    if (found !== null) return found;
  }
}

function linkBy(talk: Talk, typed: string, hosts: number): Promise<Draft | null> {
  if (typed === "find") return lookedThrough(talk, hosts);
  if (typed === "serial") return onSerial(talk);
  return typed.startsWith("opc.tcp:") ? byOpcua(talk, typed) : byModbus(talk, typed);
}

/** Returns an error handler that shows a CommandError, so that the question can be repeated. */
function reported({ io }: Talk): (error: unknown) => null {
  return (error) => {
    if (!(error instanceof CommandError)) throw error;
    io.err(`${error.message}\n`);
    return null;
  };
}

async function lookedThrough(talk: Talk, hosts: number): Promise<Draft | null> {
  if (!(await agreed(talk, `Open a connection to each of ${hosts} addresses for a moment?`))) return null;
  const { answer, text } = await runTool(talk, "/setup/find", { where: "subnets" });
  talk.io.err(text);
  if (answer.where !== "subnets") return null;
  const names = answer.found.map(({ host, port, protocol }) => `${host}:${port}  ${protocol}`);
  const found = answer.found[(await choose(talk, names)) ?? -1];
  if (found === undefined) return null;
  const at = `${found.host}:${found.port}`;
  return found.protocol === "opcua" ? byOpcua(talk, `opc.tcp://${at}`) : byModbus(talk, at);
}

async function onSerial(talk: Talk): Promise<Draft | null> {
  const { answer, text } = await runTool(talk, "/setup/find", { where: "serial" });
  talk.io.err(text);
  if (answer.where !== "serial") return null;
  const names = answer.found.map(({ serial, unit_id }) => `${serial.path}, unit id ${unit_id}`);
  const found = answer.found[(await choose(talk, names)) ?? -1];
  if (found === undefined) return null;
  const { serial, unit_id, said } = found;
  return { link: { modbus: { serial, unit_id } }, said };
}

/**
 * Finds out how to connect to an OPC UA server. Sends nothing secret to the server until a person has compared its certificate with the one
 * that the PLC shows.
 */
async function byOpcua(talk: Talk, endpoint: string): Promise<Draft | null> {
  const { answer } = await runTool(talk, "/setup/find", { where: "opcua", endpoint });
  const offers = answer.where === "opcua" ? answer.offers : [];
  const safe = offers.find(({ policy, fingerprint }) => policy !== "None" && fingerprint !== null);
  if (safe?.fingerprint) {
    talk.io.err(`Its certificate: ${safe.name}\n  SHA-256 ${safe.fingerprint}\n`);
    if (!(await agreed(talk, "Does the PLC itself show the same fingerprint?"))) return null;
    const pinned = { security_policy: safe.policy, server_certificate_fingerprint: safe.fingerprint };
    const user = await askLogin(talk, endpoint);
    return { link: { opcua: { endpoint, ...pinned, ...(user === "" ? {} : { user }) } }, said: [safe.name] };
  }
  if (offers.length === 0) throw new CommandError(`${endpoint} offers no usable security settings`);
  if (!(await agreed(talk, "It offers no protection. Read it anyway? Every reading is marked as uncertain.")))
    return null;
  return { link: { opcua: { endpoint, security_policy: "None", allow_insecure: true } }, said: [] };
}

/** Asks for a user and a password, which the agent keeps sealed. Returns the user; "" means no login. */
async function askLogin(talk: Talk, endpoint: string): Promise<string> {
  const user = await asked(talk, "User that it wants (empty: none): ");
  if (user === "") return "";
  const password = await asked(talk, `Password of ${user}: `);
  await talk.agent.post("/setup/login", { endpoint, user, password });
  return user;
}

async function byModbus(talk: Talk, address: string): Promise<Draft | null> {
  const { answer, text } = await runTool(talk, "/plc/probe", { address });
  talk.io.err(text);
  const { modbus, host, port } = answer;
  if (modbus.kind !== "modbus") return null;
  const unit_id = modbus.units.find((one) => one.answer === "answers")?.unit;
  const link = { modbus: { host, ...(port === MODBUS_PORT ? {} : { port }), ...unitOf(modbus, unit_id) } };
  return { link, said: (modbus.identification ?? []).flatMap((one) => (one.text === "" ? [] : [render(one.text)])) };
}

/** Returns the unit id to configure. Leaves it out for a device that answers at every unit id, so that the profile's is used. */
function unitOf({ units }: Extract<ModbusFinding, { kind: "modbus" }>, unit_id: number | undefined) {
  const isAny = units.length > 1 && units.every(({ answer }) => answer === "answers");
  return isAny || unit_id === undefined ? {} : { unit_id };
}

async function askProfile(talk: Talk, { link, said = [] }: Draft): Promise<string> {
  const { answer } = await runTool(talk, "/setup/rank", { ...link, said });
  const { profiles } = answer;
  for (;;) {
    const chosen = await choose(talk, profiles.map(profileLine), 0);
    const found = profiles[chosen ?? -1];
    if (found === undefined)
      throw new CommandError("no profile was chosen: your answers are saved; run the command again to continue");
    talk.io.err(valuesText(found.values));
    if (await agreed(talk, `Is this right: ${found.profile}?`)) return found.profile;
  }
}

function profileLine({ profile, fit, reasons }: RankedProfile): string {
  return `${profile.padEnd(20)} ${String(Math.round(fit * 100)).padStart(3)} %  ${reasons.map((one) => render(one)).join("; ")}`;
}

const MARKS = { plausible: "ok", open: "", odd: "LOOK", silent: "-" } as const;

function valuesText(values: readonly TagVerdict[]): string {
  const rows = values.map(({ label, value, unit, verdict, usual }) => [
    render(label),
    value === null ? "-" : `${String(value)} ${unit}`,
    MARKS[verdict],
    render(usual),
  ]);
  return tableText(["value", "reads", "", "usual"], rows);
}

/** Waits until the trial of the new settings ends. Returns the booth's name. Throws a CommandError if the trial failed. */
async function proven({ agent, io }: Talk): Promise<string> {
  let booth = "";
  const isKept = await follow({ io, quiet: false, still: "being tried" }, async (tell) => {
    const { trial, taken_back } = await agent.get<SetUpStatus>("/setup");
    booth = trial?.booth ?? (booth === "" ? (taken_back?.booth ?? booth) : booth);
    if (trial === null) return { reason: taken_back?.reason ?? null };
    tell(
      "tried",
      `tried: the PLC has ${durationText(trial.left_ms)} to answer; "booth-gateway setup --keep" keeps it at once`,
    );
    return null;
  });
  if (isKept.reason !== null) {
    const reason = render(isKept.reason);
    throw new CommandError(`${booth}: the change was undone: ${reason}; your answers are saved, run the command again`);
  }
  if (booth === "") booth = (await agent.status()).booths.at(-1)?.booth ?? "";
  io.err(`${booth}: the PLC answers, its settings stay\n`);
  return booth;
}

function overview({ service, booths, trial, taken_back, set_up_file }: SetUpStatus): string {
  const by = { file: "by the configuration", set_up: `by ${set_up_file}` } as const;
  return linesText([
    `service   ${service.url ?? "none yet"}${service.said_by === null ? "" : `, ${by[service.said_by]}`}${service.has_key ? "" : "; no key yet"}`,
    ...booths.map(({ booth, profile, address, tz, said_by }) => {
      const whose = Object.values(said_by).includes("file") ? by.file : by.set_up;
      return `${booth}   ${profile} at ${address}, ${tz}, ${whose}`;
    }),
    booths.length === 0 ? "booths    none yet" : null,
    trial === null ? null : `tried     ${trial.booth}, for ${durationText(trial.left_ms)} more`,
    taken_back === null ? null : `back      ${taken_back.booth}: ${render(taken_back.reason)}`,
  ]);
}

function linkName({ modbus, opcua }: Link): string {
  return opcua?.endpoint ?? modbus?.serial?.path ?? `${modbus?.host ?? "?"}:${modbus?.port ?? MODBUS_PORT}`;
}

/** The answers of the agent's tools by path. */
interface Found {
  readonly "/plc/probe": ProbeFinding;
  readonly "/setup/find": Looked;
  readonly "/setup/rank": Ranking;
}

/** Runs a tool in the agent and shows its progress. */
async function runTool<P extends keyof Found>({ agent, io }: Talk, path: P, body: object) {
  const done = await agent.converse(path, { body, patience_ms: LOOKS_FOR_MS }, (text) => io.progress(text));
  io.progress("");
  return done as { readonly answer: Found[P]; readonly text: string };
}

async function asked({ io }: Talk, question: string): Promise<string> {
  const said = await io.ask(question);
  if (said === null)
    throw new CommandError(
      'No terminal to ask on: run it at a terminal, or open the gateway\'s page ("booth-gateway page --for 30m")',
    );
  return said.trim();
}

async function agreed(talk: Talk, question: string): Promise<boolean> {
  return /^y(es)?$/i.test(await asked(talk, `${question} [y/N] `));
}

/** Asks for the number of a list item. Returns its index; null if nothing was chosen. */
async function choose(talk: Talk, names: readonly string[], usual?: number): Promise<number | null> {
  if (names.length === 0) return null;
  talk.io.err(linesText(names.map((name, i) => `${String(i + 1).padStart(3)}  ${name}`)));
  const typed = await asked(talk, `Which of them${usual === undefined ? " (empty: none)" : ` [${usual + 1}]`}: `);
  const index = typed === "" ? (usual ?? -1) : Number(typed) - 1;
  return names[index] === undefined ? null : index;
}
