import { z } from "zod";
import { boothIds, caFile, optionalPath, user, whole } from "./common-schema.ts";
import { marked } from "./marks.ts";
import { shapeFault } from "./shape-faults.ts";

/** Each output holds a connection and reads the log on its own, which costs a small box memory and CPU. */
const MAX_OUTPUTS = 4;
/** Further servers of a Sparkplug output. */
const MORE_SERVERS = 3;
/** Characters of a topic. MQTT allows 65,535 bytes, which is too long to subscribe to by hand. */
const LONGEST_TOPIC = 512;

const serverUrl = z.string().max(2000);

const template = (usual: string, what: string) => z.string().min(1).max(LONGEST_TOPIC).default(usual).describe(what);

/** A part of a Sparkplug topic. */
const part = z
  .string()
  .min(1)
  .max(128)
  .regex(/^[^/+#\p{Cc}]+$/u, shapeFault("config.output_part"));

const mqttSchema = z.strictObject({
  topics: z
    .strictObject({
      tag: template("booths/{booth}/tags/{tag}", "Of a reading. {gateway}, {booth}, {serial}, {tag}."),
      figure: template(
        "booths/{booth}/figures/{figure}",
        "Of mode, cycles and the like. {gateway}, {booth}, {serial}, {figure}.",
      ),
      status: template("booths/{gateway}/status", "online or offline, retained. {gateway}."),
    })
    .prefault({}),
  payload: z
    .enum(["json", "value"])
    .default("json")
    .describe("json: value, time, quality, unit. value: the bare value."),
  retain: z.boolean().default(true).describe("The broker keeps the newest of each topic for who comes later."),
  history: z
    .boolean()
    .default(true)
    .describe("What was read while the broker was away is sent in order; false: it is passed over, and that is told."),
  home_assistant: z
    .strictObject({ prefix: part.default("homeassistant").describe("Home Assistant's own discovery prefix.") })
    .exactOptional()
    .describe("Home Assistant finds the booths by itself. What was read before it could hear is then passed over."),
});

const sparkplugSchema = z.strictObject({
  group_id: part.describe("Sparkplug group, e.g. the plant."),
  edge_node_id: part.exactOptional().describe("Default: the gateway's id."),
  primary_host_id: part
    .exactOptional()
    .describe("Nothing is sent, and all is kept, until this host application says that it is online."),
  more_urls: z
    .array(serverUrl)
    .min(1)
    .max(MORE_SERVERS)
    .exactOptional()
    .describe(
      "Further servers, each tried after the one before: where none answers, or the primary host isn't online there.",
    ),
});

const otlpSchema = z.strictObject({
  interval_ms: whole(10_000, 3_600_000).default(60_000).describe("The agent's figures go so often."),
});

export const outputsSchema = z
  .array(
    z.strictObject({
      name: z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/, shapeFault("config.output_name")),
      url: serverUrl.describe(
        "Its broker: mqtts or wss; mqtt and ws on this machine alone. Of otlp: the collector, https, or http on this machine alone; without a path /v1/metrics.",
      ),
      mqtt_version: z.enum(["v5", "v3.1.1"]).default("v5"),
      client_id: z
        .string()
        .min(1)
        .max(64)
        .exactOptional()
        .describe("Default: booth-gateway, the gateway's id and the output's name."),
      user,
      password_file: marked(optionalPath("File of mode 0600 that holds the user's password."), "password"),
      token_file: marked(optionalPath("Of otlp: file of mode 0600 that holds a bearer token."), "password"),
      ca_file: caFile(),
      client_certificate_file: marked(
        optionalPath("Shown to a broker that asks for one, PEM; read anew at each connection."),
        "authorities",
      ),
      client_key_file: marked(optionalPath("Its private key, PEM, mode 0600."), "key"),
      booths: boothIds.describe("Ids of the booths it is told of. Default: all."),
      since: z
        .string()
        .max(64)
        .exactOptional()
        .describe(
          "Where it begins when it is new: an instant such as 2026-11-25T00:00:00Z. Default, and always with home_assistant or history: false: with what is read from then on.",
        ),
      max_records_per_s: whole(10, 100_000)
        .default(2_000)
        .describe("Most records a second of what waited, so that nothing else is held up."),
      mqtt: mqttSchema.exactOptional().describe("A topic for each tag and each figure."),
      sparkplug: sparkplugSchema.exactOptional().describe("Sparkplug B, as an edge node with a device for each booth."),
      otlp: otlpSchema
        .exactOptional()
        .describe("The agent's own figures, as on /metrics, pushed to a collector: OTLP over HTTP, JSON, gzip."),
    }),
  )
  .max(MAX_OUTPUTS)
  .default([]);

export type OutputInput = z.output<typeof outputsSchema>[number];
