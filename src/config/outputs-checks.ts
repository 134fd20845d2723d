import { say } from "../domain/sentences.ts";
import type { BoothId } from "../domain/units.ts";
import type { Problem } from "./config-error.ts";
import { didYouMean } from "./nearest.ts";
import type { OutputInput } from "./outputs-schema.ts";
import { brokerUrlFault, serviceUrlFault } from "./urls.ts";
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

const KINDS = ["mqtt", "sparkplug", "otlp"] as const;
/** What another kind has. */
const STRANGE = { mqtt: ["token_file"], sparkplug: ["token_file"], otlp: ["client_id", "since"] } as const;

type Fault = readonly [key: DataPath, message: string];

function faultsOf(output: OutputInput): readonly Fault[] {
  const { url, mqtt, otlp, user, password_file, client_certificate_file, client_key_file, since } = output;
  const faults: Fault[] = [];
  const fault = otlp === undefined ? brokerUrlFault(url) : serviceUrlFault(url);
  if (fault !== null) faults.push([["url"], fault]);
  faults.push(...moreUrlFaults(output));
  const [kind, second] = KINDS.filter((name) => output[name] !== undefined);
  if (kind === undefined || second !== undefined) {
    faults.push([second === undefined ? [] : [second], say("config.one_kind", { kinds: KINDS.join(", ") })]);
  }
  const strange = kind === undefined ? undefined : STRANGE[kind].find((name) => output[name] !== undefined);
  if (strange !== undefined) faults.push([[strange], say("config.strange_key", { key: strange, kind: kind ?? "" })]);
  if (output.token_file !== undefined && user !== undefined) faults.push([["token_file"], say("config.token_or_user")]);
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

function moreUrlFaults({ sparkplug: { more_urls = [] } = { group_id: "" } }: OutputInput): readonly Fault[] {
  return more_urls.flatMap((url, index): Fault[] => {
    const fault = brokerUrlFault(url);
    return fault === null ? [] : [[["sparkplug", "more_urls", index], fault]];
  });
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
