import { BinaryStream } from "node-opcua";
import { findProfile } from "../../../src/config/profile.ts";
import { LinkError } from "../../../src/domain/link-error.ts";
import type { OpcuaProfile } from "../../../src/domain/profile.ts";
import type { Sample } from "../../../src/domain/taken.ts";
import { rawOf } from "../../../src/acquisition/opcua/cyclic.ts";
import { opcuaLibrary, quietly, type Opcua } from "../../../src/acquisition/opcua/library.ts";
import { LIMITS, parseAck, parseError, takeFrames, typeOf } from "../../../src/acquisition/opcua/transport.ts";
import { sampleOf } from "../../../src/acquisition/opcua/value.ts";
import type { Judge, Target } from "../target.ts";

/** Judges a connection's bytes: frames have their stated type and length, however the bytes are split. */
const judgeFrames: Judge = (input) => {
  const whole = takeFrames(input);
  const half = takeFrames(input.subarray(0, input.length >> 1));
  const rest = half.fault === null ? takeFrames(Buffer.concat([half.rest, input.subarray(input.length >> 1)])) : half;
  const apart = half.fault === null ? [...half.frames, ...rest.frames] : half.frames;
  if (apart.length !== whole.frames.length || apart.some((frame, i) => !frame.equals(whole.frames[i] ?? Buffer.of())))
    return { wrong: "other frames where the bytes come in two pieces" };
  const kept = Buffer.concat([...whole.frames, whole.rest]);
  if (!input.subarray(0, kept.length).equals(kept)) return { wrong: "bytes that never came" };
  if (whole.fault === null && kept.length !== input.length) return { wrong: "bytes are missing" };
  if (whole.rest.length > LIMITS.chunk_bytes) return { wrong: "more is kept than one chunk" };
  for (const frame of whole.frames) {
    if (frame.length !== frame.readUInt32LE(4)) return { wrong: "a frame of another length than it says" };
    const problem = greetingProblem(frame);
    if (problem !== null) return { wrong: problem };
  }
  return whole.fault === null && whole.frames.length > 0 ? "taken" : "refused";
};

function greetingProblem(frame: Buffer): string | null {
  const type = typeOf(frame);
  const said = type === "ERR" ? parseError(frame) : parseAck(frame);
  if (said instanceof LinkError) {
    return said.message.length > 400 || /[\p{Cc}]/u.test(said.message) ? `shown to people: ${said.message}` : null;
  }
  return type === "ACK" && said >= 8_192 && said <= LIMITS.chunk_bytes ? null : `agreed on chunks of ${said}`;
}

export const opcuaFrames: Target = { name: "opcua-frames", format: "hex", ci_runs: 10_000, open: () => judgeFrames };

/** Judges the body of a read response, decoded by the library and the driver's own code. */
function judgeAnswers(opcua: Opcua, { tags }: OpcuaProfile): Judge {
  return (input) => {
    const response = new opcua.ReadResponse();
    try {
      quietly(() => response.decode(new BinaryStream(input)));
    } catch {
      // The transport ends the connection if an answer can't be decoded.
      return "refused";
    }
    for (const value of response.results ?? []) {
      const raw = rawOf(opcua, value);
      for (const tag of tags) {
        const problem = sampleProblem(sampleOf(tag, raw, { insecure: false }));
        if (problem !== null) return { wrong: `${problem}: ${JSON.stringify(raw, withBigInt)} as ${tag.point.type}` };
      }
    }
    return "taken";
  };
}

const withBigInt = (_: string, value: unknown): unknown => (typeof value === "bigint" ? value.toString() : value);

/** Returns what is wrong with a sample, whatever the server sent. */
function sampleProblem({ value, quality, source_at }: Sample): string | null {
  if ((quality === "bad") !== (value === null)) return "a value without quality, or the other way round";
  if (typeof value === "number" && !Number.isFinite(value)) return "a number that is none";
  if (typeof value === "string" && (value.length > 500 || /[\p{Cc}]/u.test(value))) return "a text that isn't clean";
  return source_at !== undefined && !Number.isFinite(source_at) ? "a time that is none" : null;
}

export const opcuaAnswers: Target = {
  name: "opcua-answers",
  format: "hex",
  ci_runs: 2_000,
  open: async () => {
    const profile = findProfile("plcnext-booth");
    if (profile.protocol !== "opcua") throw new Error("plcnext-booth speaks OPC UA");
    return judgeAnswers(await opcuaLibrary(), profile);
  },
};
