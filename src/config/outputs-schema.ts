import { z } from "zod";
import { boothIds, caFile, optionalPath, user, whole } from "./common-schema.ts";
import { marked } from "./marks.ts";
import { shapeFault } from "./shape-faults.ts";

/**
 * The maximum number of outputs. Each output holds a connection and reads the log by itself, which costs a small box memory and CPU time.
 */
const MAX_OUTPUTS = 4;
/** The maximum number of additional servers of a Sparkplug output. */
const MORE_SERVERS = 3;
/** The maximum number of characters in a topic. MQTT allows 65,535 bytes, too many to type when subscribing. */
const LONGEST_TOPIC = 512;

const serverUrl = z.string().max(2000);

const template = (usual: string, what: string) => z.string().min(1).max(LONGEST_TOPIC).default(usual).describe(what);

/** A segment of a Sparkplug topic. */
const part = z
  .string()
  .min(1)
  .max(128)
  .regex(/^[^/+#\p{Cc}]+$/u, shapeFault("config.output_part"));

const mqttSchema = z.strictObject({
  topics: z
    .strictObject({
      tag: template(
        "booths/{booth}/tags/{tag}",
        "Topic of a reading. Placeholders: {gateway}, {booth}, {serial}, {tag}.",
      ),
      figure: template(
        "booths/{booth}/figures/{figure}",
        "Topic of a figure such as mode or cycles. Placeholders: {gateway}, {booth}, {serial}, {figure}.",
      ),
      status: template(
        "booths/{gateway}/status",
        "Topic of the state online or offline, retained. Placeholder: {gateway}.",
      ),
    })
    .prefault({}),
  payload: z
    .enum(["json", "value"])
    .default("json")
    .describe("json: value, time, quality and unit. value: the value only."),
  retain: z
    .boolean()
    .default(true)
    .describe("The broker keeps the newest message of each topic for later subscribers."),
  history: z
    .boolean()
    .default(true)
    .describe(
      "true: readings from a broker outage are sent later, in order. false: they are skipped, and the skip is reported.",
    ),
  home_assistant: z
    .strictObject({ prefix: part.default("homeassistant").describe("Discovery prefix of Home Assistant.") })
    .exactOptional()
    .describe(
      "Home Assistant discovers the booths. Readings taken before Home Assistant was able to receive them are then skipped.",
    ),
});

const sparkplugSchema = z.strictObject({
  group_id: part.describe("Sparkplug group, e.g. the plant."),
  edge_node_id: part.exactOptional().describe("Default: the gateway's id."),
  primary_host_id: part
    .exactOptional()
    .describe("The output waits until this host application reports that it is online. Records are kept until then."),
  more_urls: z
    .array(serverUrl)
    .min(1)
    .max(MORE_SERVERS)
    .exactOptional()
    .describe("Further servers, tried in order if a server doesn't answer or the primary host isn't online there."),
});

const otlpSchema = z.strictObject({
  interval_ms: whole(10_000, 3_600_000).default(60_000).describe("Interval at which the agent's metrics are sent."),
});

export const outputsSchema = z
  .array(
    z.strictObject({
      name: z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/, shapeFault("config.output_name")),
      url: serverUrl.describe(
        "URL of the broker: mqtts or wss; mqtt and ws only on this machine. With otlp, URL of the collector: https, or http only on this machine; default path /v1/metrics.",
      ),
      mqtt_version: z.enum(["v5", "v3.1.1"]).default("v5"),
      client_id: z
        .string()
        .min(1)
        .max(64)
        .exactOptional()
        .describe("Default: made of booth-gateway, the gateway's id and the output's name."),
      user,
      password_file: marked(optionalPath("File of mode 0600 that holds the user's password."), "password"),
      token_file: marked(optionalPath("otlp only: file of mode 0600 that holds a bearer token."), "password"),
      ca_file: caFile(),
      client_certificate_file: marked(
        optionalPath("Client certificate for a broker that requests one, PEM; read again at each connection."),
        "authorities",
      ),
      client_key_file: marked(optionalPath("Its private key, PEM, mode 0600."), "key"),
      booths: boothIds.describe("Ids of the booths to send. Default: all."),
      since: z
        .string()
        .max(64)
        .exactOptional()
        .describe(
          "Time of the oldest reading that a new output sends, such as 2026-11-25T00:00:00Z. Default, and always with home_assistant or history: false: the time at which the output is added.",
        ),
      max_records_per_s: whole(10, 100_000)
        .default(2_000)
        .describe("Rate limit for the backlog, in records per second, so that it doesn't delay other work."),
      mqtt: mqttSchema.exactOptional().describe("MQTT with a topic for each tag and each figure."),
      sparkplug: sparkplugSchema.exactOptional().describe("Sparkplug B, as an edge node with a device for each booth."),
      otlp: otlpSchema
        .exactOptional()
        .describe("Pushes the agent's metrics, as on /metrics, to a collector: OTLP over HTTP, JSON, gzip."),
    }),
  )
  .max(MAX_OUTPUTS)
  .default([]);

export type OutputInput = z.output<typeof outputsSchema>[number];
