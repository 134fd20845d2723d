import { say } from "../domain/sentences.ts";
import type { BoothId } from "../domain/units.ts";
import type { Problem } from "./config-error.ts";
import { didYouMean } from "./nearest.ts";
import type { OutputInput } from "./outputs-schema.ts";
import { brokerUrlFault } from "./urls.ts";
import type { DataPath, YamlSource } from "./yaml-source.ts";

/** What stands in braces of each template. */
const PLACES = {
  tag: ["gateway", "booth", "serial", "tag"],
  figure: ["gateway", "booth", "serial", "figure"],
  status: ["gateway"],
} as const;

/** What concerns more than one value of an output, or the booths. */
export function checkOutputs(
  {
    outputs,
    booths,
  }: { readonly outputs: readonly OutputInput[]; readonly booths: readonly { readonly id: BoothId }[] },
  source: YamlSource,
): readonly Problem[] {
  const ids = booths.map(({ id }) => id);
  return outputs.flatMap((output, index) => {
    const at: DataPath = ["outputs", index];
    const isTaken = outputs.findIndex(({ name }) => name === output.name) < index;
    return [
      ...(isTaken ? [source.problemAt([...at, "name"], say("config.name_taken", { name: output.name }))] : []),
      ...faultsOf(output).map(([key, message]) => source.problemAt([...at, ...key], message, { at: "key" })),
      ...(output.booths ?? []).flatMap((id, position) =>
        ids.includes(id)
          ? []
          : [
              source.problemAt([...at, "booths", position], say("config.no_booth", { booth: id }), {
                hint: didYouMean(id, ids),
              }),
            ],
      ),
    ];
  });
}

type Fault = readonly [key: readonly string[], message: string];

function faultsOf(output: OutputInput): readonly Fault[] {
  const { url, mqtt, sparkplug, user, password_file, client_certificate_file, client_key_file, since } = output;
  const faults: Fault[] = [];
  const fault = brokerUrlFault(url);
  if (fault !== null) faults.push([["url"], fault]);
  if ((mqtt === undefined) === (sparkplug === undefined)) {
    faults.push([mqtt === undefined ? [] : ["sparkplug"], say("config.mqtt_or_sparkplug")]);
  }
  if (password_file !== undefined && user === undefined) faults.push([["password_file"], say("config.password_user")]);
  if ((client_certificate_file === undefined) !== (client_key_file === undefined)) {
    const key = client_key_file === undefined ? "client_certificate_file" : "client_key_file";
    faults.push([[key], say("config.client_pair")]);
  }
  if (since !== undefined && Number.isNaN(Date.parse(since))) {
    faults.push([["since"], say("config.instant")]);
  }
  return mqtt === undefined ? faults : [...faults, ...topicFaults(mqtt.topics)];
}

function topicFaults(topics: NonNullable<OutputInput["mqtt"]>["topics"]): readonly Fault[] {
  return Object.entries(PLACES).flatMap(([name, places]: [string, readonly string[]]): Fault[] => {
    const text = topics[name as keyof typeof PLACES];
    const key = ["mqtt", "topics", name];
    const named = [...text.matchAll(/\{([^{}]*)\}/g)].map((match) => match[1] ?? "");
    const unknown = named.find((place) => !places.includes(place));
    if (unknown !== undefined) {
      return [[key, `{${unknown}} is not known here: ${places.map((place) => `{${place}}`).join(", ")}`]];
    }
    if (/[+#\p{Cc}]/u.test(text) || text.startsWith("$")) return [[key, say("config.topic")]];
    if (/[{}]/.test(text.replaceAll(/\{[^{}]*\}/g, ""))) return [[key, say("config.brace")]];
    const last = places.at(-1) ?? "";
    const isMixed =
      name !== "status" && !(named.includes(last) && (named.includes("booth") || named.includes("serial")));
    return isMixed ? [[key, `two would share a topic: it needs {${last}}, and {booth} or {serial}`]] : [];
  });
}
