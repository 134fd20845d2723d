import { chunkOutcomeOf, outcomeOf, parseAck } from "../../../src/delivery/mqtt/link.ts";
import { packetSizes } from "../../../src/delivery/mqtt/dial.ts";
import { hashOf, sha256 } from "../../../src/contract/hash.ts";
import { parseCommand } from "../../../src/contract/commands.ts";
import type { ServiceCommand } from "../../../src/domain/command.ts";
import { THREE_RECORDS } from "../../support/records.ts";
import type { Judge, Target } from "../target.ts";

const LIMIT = 1_000;

/**
 * Judges packets: a packet over the limit is found at its header, neither earlier nor later, in one piece or byte by
 * byte.
 */
const judgePackets: Judge = (input) => {
  const whole = packetSizes(LIMIT)(input);
  const bytewise = packetSizes(LIMIT);
  const apart = [...input].map((byte) => bytewise(Uint8Array.of(byte))).some(Boolean);
  const expected = isOverLimit(input);
  if (whole !== expected || apart !== expected) {
    return { wrong: `${String(whole)} in one piece, ${String(apart)} byte by byte, should be ${String(expected)}` };
  }
  return expected ? "refused" : "taken";
};

/** Finds a packet over the limit by walking over whole packets (MQTT 5, 2.1.4). */
function isOverLimit(bytes: Buffer): boolean {
  for (let at = 0; at < bytes.length;) {
    let length = 0;
    let size = 0;
    for (;;) {
      const byte = bytes[at + 1 + size];
      if (byte === undefined) return false;
      length += (byte & 0x7f) * 128 ** size;
      size += 1;
      if (byte < 0x80) break;
      if (size === 4) return true;
    }
    if (length > LIMIT) return true;
    at += 1 + size + length;
  }
  return false;
}

/** A chunk of records 1 to 4, of which the first is a fact. */
const CHUNK = { stream: "s", hash: sha256("a chunk's message"), from: 1, to: 4, first_seq: 2 };

/**
 * Returns what is wrong with the result for an ack of a chunk: records count as stored only with the message's hash,
 * its whole range, and no error field.
 */
function chunkProblem(input: Buffer): string | null {
  const ack = parseAck(input);
  const outcome = ack === null ? null : chunkOutcomeOf(ack, CHUNK);
  if (outcome?.kind !== "acked") return null;
  const {
    chunk,
    st,
    s0,
    n,
    error = "",
    conflict,
  } = JSON.parse(input.toString("utf8")) as Readonly<Record<string, unknown>>;
  if (chunk !== CHUNK.hash || st !== "s" || Number(s0) !== 2 || Number(n) !== 4) return "a chunk acked by another name";
  if (typeof error === "string" && error !== "") return "a chunk acked with an error";
  if (Number.isSafeInteger(conflict) && Number(conflict) >= 0) return "a chunk acked with a conflict";
  return outcome.rejected.every(({ seq }) => seq >= 1 && seq <= 4) ? null : "rejected what wasn't sent in a chunk";
}

/** Judges an ack of a batch of three records: it moves a cursor only with the hash of the stored records. */
const judgeAcks: Judge = (input) => {
  const problem = chunkProblem(input);
  if (problem !== null) return { wrong: problem };
  const ack = parseAck(input);
  if (ack === null) return "refused";
  const outcome = outcomeOf(ack, { stream: "s", records: THREE_RECORDS }, true);
  if (outcome?.kind !== "acked") return "taken";
  const said = JSON.parse(input.toString("utf8")) as { readonly hash?: unknown };
  const gone = new Set(outcome.rejected.map(({ seq }) => seq));
  const stored = THREE_RECORDS.filter(({ seq }) => !gone.has(seq));
  if (said.hash !== hashOf(stored)) return { wrong: "acked without the hash of what was stored" };
  return outcome.rejected.every(({ seq }) => [1, 2, 3].includes(seq))
    ? "taken"
    : { wrong: "rejected what wasn't sent" };
};

const judgeCommands: Judge = (input) => {
  const heard = parseCommand(input.toString("utf8"));
  if (heard?.kind !== "command") return "refused";
  const problem = commandProblem(heard.command);
  return problem === null ? "taken" : { wrong: `${problem}: ${JSON.stringify(heard.command)}` };
};

const isWhole = (value: unknown): boolean => Number.isSafeInteger(value);

function commandProblem({ id, expires_at, order }: ServiceCommand): string | null {
  if (id === "" || id.length > 128) return "its id can't be answered";
  if (!isWhole(expires_at)) return "it never expires";
  if (order.type === "backfill")
    return order.ranges.every(({ from, to }) => isWhole(from) && isWhole(to) && from >= 1 && to >= from)
      ? null
      : "a range that is none";
  if (order.type === "digest")
    return isWhole(order.start) && isWhole(order.end) && order.end > order.start ? null : "a window that is none";
  if (order.type === "config_changed")
    return isWhole(order.revision) && isWhole(order.within_ms) && order.within_ms > 0 ? null : "a trial that is none";
  return null;
}

export const mqttPackets: Target = { name: "mqtt-packets", format: "hex", ci_runs: 10_000, open: () => judgePackets };
export const mqttAcks: Target = { name: "mqtt-acks", format: "text", ci_runs: 5_000, open: () => judgeAcks };
export const mqttCommands: Target = {
  name: "mqtt-commands",
  format: "text",
  ci_runs: 5_000,
  open: () => judgeCommands,
};
